// ---- The key figures of a region, as text (which there are is said in key_figures.py) ----

const SHOW = { count: showCount, mean: showMean, share: showShare };

/** A key figure as text, and what is known of it: its interval, with a better estimate if the figure is outside. */
function showFigure(figure, value, ends, isPublic) {
  if (isPublic) return [figure.show(value), "public, exact"];
  if (!ends) return [figure.show(value), null];
  const [low, high] = ends;
  const shown = figure.isClass ? [value, low, high].map(figure.show) : roundToInterval(value, low, high);
  const interval = tellEnds(shown[1], shown[2]);
  if (value >= low && value <= high) return [shown[0], interval];
  const nearest = figure.show(value < low ? low : high); // the middle may be no size
  const better = figure.isSize ? nearest : roundToInterval((low + high) / 2, low, high)[0];
  return [shown[0], `better ${better}: ${interval}`];
}
