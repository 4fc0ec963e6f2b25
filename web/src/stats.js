// Robust statistics of small arrays.

export function median(values) {
  if (values.length === 0) return NaN;
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function quantile(sorted, q) {
  if (sorted.length === 0) return NaN;
  const at = (sorted.length - 1) * q;
  const low = Math.floor(at);
  return sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (at - low);
}

// Where values are expected: the median, and three robust standard deviations around it. Of a series with an open
// finding it is what held before the change, of another all that is shown.
export function baseline(timesMs, values, finding) {
  const until = finding ? Number(finding.onset_earliest_unix_ns) / 1e6 : Infinity;
  const past = values.filter((v, i) => timesMs[i] <= until && Number.isFinite(v));
  if (past.length < 5) return null;
  const level = median(past);
  const spread = 3 * 1.4826 * median(past.map((v) => Math.abs(v - level)));
  return {level, low: level - spread, high: level + spread, until};
}
