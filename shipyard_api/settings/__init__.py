"""What settings are made of: their types, and the plug-ins that bring their own."""
