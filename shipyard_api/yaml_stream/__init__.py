"""Read untrusted YAML streams into JSON values, or faults with line and column; write YAML streams."""

from shipyard_api.yaml_stream.faults import YamlFault, YamlFaults
from shipyard_api.yaml_stream.reading import read_documents
from shipyard_api.yaml_stream.scan import Limits
from shipyard_api.yaml_stream.writing import write_documents

__all__ = ["Limits", "YamlFault", "YamlFaults", "read_documents", "write_documents"]
