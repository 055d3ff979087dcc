// ---- The key figures of a region, in the order of their table: what each is, and how it is shown ----

const QUANTILES = [["10 %", 0.1], ["25 %", 0.25], ["Median", 0.5], ["75 %", 0.75], ["90 %", 0.9]];
const MOST_PLACES = 4;

/** ``column`` is the name in downloads; ``place`` that of the interval among those of a region (SHOWN in packing.py). */
const KEY_FIGURES = [
  { name: "Groups", column: "groups", place: 0, show: showCount, of: (distribution) => distribution.total },
  { name: "Mean size", column: "mean_size", place: 1, show: showMean, of: (distribution) => distribution.mean },
  { name: "Of size 1", column: "share_of_size_1", show: showShare, of: (distribution) => distribution.shareOf(1) },
  ...QUANTILES.map(([name, share], i) => ({ name, column: `quantile_${100 * share}`, place: 2 + i, show: showCount, of: (distribution) => distribution.quantile(share) })),
  { name: "Largest", show: showCount, of: (distribution) => distribution.largest() },
];

/** A key figure as text, in as many places as tell the ends of its interval apart, and the interval, if there is one. */
function showFigure(figure, value, ends) {
  if (!ends) return [figure.show(value), null];
  const width = ends[1] - ends[0];
  const places = width > 0 ? Math.min(MOST_PLACES, Math.max(2, Math.ceil(-Math.log10(width)))) : 2;
  const [shown, from, to] = [value, ...ends].map((number) => figure.show(number, places));
  if (from !== to) return [shown, `${from} to\u00a0${to}`];
  return [shown, from === shown ? "±\u00a00" : from];
}
