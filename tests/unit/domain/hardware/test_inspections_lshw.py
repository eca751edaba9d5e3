"""What lshw and lldpctl print, as MAAS and Drydock keep it."""

from shipyard_api.domain.hardware.inspections import hardware
from shipyard_api.domain.hardware.seen import Disk, Neighbour, Nic
from tests.unit.tables import every_row

LSHW = """<?xml version="1.0" standalone="yes" ?>
<list><node id="n1" class="system"><vendor>Dell Inc.</vendor><product>PowerEdge R740</product>
 <node id="core" class="bus">
  <node id="firmware" class="memory"><version>2.10.2</version><size units="bytes">65536</size></node>
  <node id="cpu:0" class="processor"><product>Xeon</product>
   <configuration><setting id="cores" value="18"/><setting id="threads" value="36"/></configuration></node>
  <node id="cpu:1" class="processor" disabled="true"><product>empty</product></node>
  <node id="cache:0" class="memory"><size units="bytes">1048576</size></node>
  <node id="memory" class="memory"><size units="bytes">34359738368</size>
   <node id="bank:0" class="memory"><size units="bytes">34359738368</size></node>
   <node id="bank:1" class="memory"><description>empty</description></node></node>
  <node id="network" class="network"><businfo>pci@0000:1a:00.0</businfo><logicalname>eth0</logicalname>
   <serial>52:54:00:AA:00:01</serial><capacity>25000000000</capacity>
   <configuration><setting id="driver" value="ice"/><setting id="speed" value="10Gbit/s"/></configuration></node>
  <node id="network:1" class="network"><businfo>pci@0000:1a:00.1</businfo><logicalname>eth1</logicalname>
   <capacity>25000000000</capacity></node>
  <node id="network:2" class="network"><logicalname>docker0</logicalname></node>
  <node id="disk" class="disk"><logicalname>/dev/sda</logicalname><size units="bytes">4000</size>
   <capabilities><capability id="7200rpm">7200</capability></capabilities>
   <node id="volume" class="volume"><size units="bytes">3000</size></node></node>
  <node id="nvme" class="storage"><node id="namespace:1" class="disk"><logicalname>/dev/nvme0n1</logicalname>
   <size units="bytes">1600</size></node></node>
  <node id="display" class="display"><vendor>NVIDIA</vendor><product>A100</product></node>
 </node></node></list>"""
LLDP = """<?xml version="1.0" encoding="UTF-8"?>
<lldp label="LLDP neighbors"><interface name="eth0" via="LLDP">
 <chassis><id type="mac">02:00:00:00:00:01</id><name>sw1</name></chassis>
 <port><id type="ifname">Ethernet1/1</id><descr>to n1</descr></port></interface>
 <interface name="eth1" via="LLDP"><chassis/></interface></lldp>"""


def test_a_whole_server() -> None:
    seen = hardware(LSHW, LLDP)
    assert seen is not None
    assert (seen.cpu_model, seen.sockets, seen.cores, seen.threads) == ("Xeon", 1, 18, 36)
    assert (seen.memory, seen.modules, seen.accelerators) == (32 * 1024**3, 1, ("NVIDIA A100",))
    assert seen.disks == (Disk("sda", 4000, "hdd"), Disk("nvme0n1", 1600, "nvme"))
    assert seen.nics == (Nic("eth0", "52:54:00:aa:00:01", 10_000, "ice"), Nic("eth1", "", 25_000))
    assert seen.neighbours == {"eth0": Neighbour(("sw1", "02:00:00:00:00:01"), ("Ethernet1/1", "to n1"))}
    assert (seen.model, seen.firmware) == ("Dell Inc. PowerEdge R740", "2.10.2")


@every_row(
    ["", "<list/>", "<list", '<!DOCTYPE a [<!ENTITY b "c">]><list>&b;</list>', "<list><node class='system'/></list>"]
)
def test_what_cannot_be_read_is_no_server(text: str) -> None:
    assert hardware(text, LLDP) is None


def test_without_neighbours_the_cabling_is_unknown() -> None:
    seen = hardware(LSHW, "")
    assert seen is not None
    assert seen.neighbours is None
