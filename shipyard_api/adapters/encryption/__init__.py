"""The encryption port, filled by Fernet in this process, with keys from the settings."""
