"""Traces, with OpenTelemetry (the extra ``otel``)."""
