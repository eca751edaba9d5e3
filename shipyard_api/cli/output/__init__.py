"""What commands print: tables, the live view, the forms of an answer."""
