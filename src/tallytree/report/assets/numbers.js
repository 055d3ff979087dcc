// ---- Numbers and names as people read them ----

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const fixed = new Map(); // by decimal places
const threeDigits = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

const NONE = "–";

function showCount(value) {
  return Number.isFinite(value) ? whole.format(value) : NONE;
}

function showMean(value, places = 2) {
  if (!Number.isFinite(value)) return NONE;
  if (!fixed.has(places)) fixed.set(places, new Intl.NumberFormat("en", { minimumFractionDigits: places, maximumFractionDigits: places }));
  return fixed.get(places).format(value);
}

function showShare(value) {
  if (!Number.isFinite(value)) return NONE;
  const percent = 100 * value;
  return `${percent !== 0 && Math.abs(percent) < 1 ? threeDigits.format(percent) : percent.toFixed(1)} %`;
}

/** A difference of shares, in percentage points. */
function showPoints(value) {
  return `${(100 * value).toFixed(1)} pp`;
}

function showSigned(value, show) {
  if (!Number.isFinite(value)) return NONE;
  const shown = show(Math.abs(value));
  if (shown === show(0)) return shown;
  return value < 0 ? `−${show(-value)}` : `+${show(value)}`;
}

/** A name cut to a length that a label can hold; what was cut is still in the name itself. */
function shorten(name, most = 120) {
  const letters = Array.from(name.slice(0, 2 * most + 2));
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : name;
}

const DIGITS = 2; // of the width of an interval, as in flags.py

/** A number and the ends of its interval as text, with no more digits than the width leaves; the ends go outwards. */
function roundToInterval(value, low, high) {
  const numbers = [value, low, high];
  const width = high - low;
  let places = Number.isFinite(width) && width > 0 ? DIGITS - 1 - Math.floor(Math.log10(width)) : 4;
  if (numbers.every((each) => Number.isInteger(each) || !Number.isFinite(each))) places = Math.min(places, 0);
  return [roundToEven, Math.floor, Math.ceil].map((towards, i) => {
    if (!Number.isFinite(numbers[i])) return "";
    const rounded = shiftPoint(towards(shiftPoint(numbers[i], places)), -places) + 0; // no -0
    return showMean(rounded, Math.max(places, 0)).replace("-", "−");
  });
}

function roundToEven(value) {
  const below = Math.floor(value);
  if (value - below !== 0.5) return Math.round(value);
  return below % 2 ? below + 1 : below;
}

/** A number times a power of ten, without the error of a multiplication: 0.29 and 2 give 29. */
function shiftPoint(value, places) {
  const [digits, power = 0] = String(value).split("e");
  return Number(`${digits}e${Number(power) + places}`);
}

/** A count of groups, its interval (if there is one) and its share of all, as text. */
function roundCount(groups, ends, total) {
  const percent = (value) => (100 * value) / total;
  if (!ends) return { value: showCount(groups), low: "", high: "", share: showShare(groups / total), better: "" };
  const [value, low, high] = roundToInterval(groups, ...ends);
  const isOutside = groups < ends[0] || groups > ends[1];
  return {
    value, low, high, share: total ? `${roundToInterval(percent(groups), ...ends.map(percent))[0]} %` : NONE,
    better: isOutside ? roundToInterval(Math.round((ends[0] + ends[1]) / 2), ...ends)[0] : "",
  };
}

function tellEnds(low, high) {
  const [from, to] = [low, high].map((end) => end.replaceAll("-", "\u2011") || "unknown"); // a class is not broken
  return `${from} to\u00a0${to}`;
}
