// ---- The key figures of a region, as text (which there are is said in key_figures.py) ----

const SHOW = { count: showCount, mean: showMean, share: showShare };
const MOST_PLACES = 4;

/** A key figure as text, in as many places as tell the ends of its interval apart, and the interval, if there is one. */
function showFigure(figure, value, ends) {
  if (!ends) return [figure.show(value), null];
  const width = ends[1] - ends[0];
  const places = width > 0 ? Math.min(MOST_PLACES, Math.max(2, Math.ceil(-Math.log10(width)))) : 2;
  const [shown, from, to] = [value, ...ends].map((number) => figure.show(number, places));
  if (from !== to) return [shown, `${from} to\u00a0${to}`];
  return [shown, from === shown ? "±\u00a00" : from];
}
