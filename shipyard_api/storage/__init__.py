"""All SQL of Shipyard: the tables and one module per noun."""
