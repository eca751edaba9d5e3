"""One folder per system that fills a port."""
