"""Pictures: histograms and charts as SVG, in the notebook's or the page's own colours."""
