/** The values that modules provide to `GET /metrics` (§12.1), in the terms of Prometheus. */

export interface Sample {
  readonly value: number
  readonly labels?: Readonly<Record<string, string>>
  /** The name of a part of a histogram: `…_bucket`, `…_sum`, `…_count`. */
  readonly metricName?: string
}

export interface Metric {
  readonly name: string
  readonly help: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  read(): readonly Sample[] | Promise<readonly Sample[]>
}

export const gauge = (name: string, help: string, read: () => number): Metric => ({
  name,
  help,
  type: 'gauge',
  read: () => [{ value: read() }],
})

/**
 * Returns the samples of a histogram.
 *
 * @param counts the number of values in each bucket, not cumulative; the last bucket has no bound
 */
export function histogramSamples(
  name: string,
  bounds: readonly number[],
  counts: readonly number[],
  sum: number,
  labels: Readonly<Record<string, string>> = {},
): Sample[] {
  let total = 0
  const buckets = counts.map((count, n) => {
    total += count
    const le = n < bounds.length ? String(bounds[n]) : '+Inf'
    return { value: total, labels: { ...labels, le }, metricName: `${name}_bucket` }
  })
  return [
    ...buckets,
    { value: sum, labels, metricName: `${name}_sum` },
    { value: total, labels, metricName: `${name}_count` },
  ]
}
