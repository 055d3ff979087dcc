"""The largest hierarchies that people have: census tracts and census blocks."""
