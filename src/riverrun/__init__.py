"""riverrun."""
