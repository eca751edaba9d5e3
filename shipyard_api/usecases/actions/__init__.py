"""Use cases on actions."""
