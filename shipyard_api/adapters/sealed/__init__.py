"""The secrets port, filled by authenticated encryption in this process, with keys from the configuration."""
