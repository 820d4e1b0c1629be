/** Words for options and declarations that differ between nodes. */

export interface DifferenceFacts {
  readonly name: string
  readonly values: readonly { readonly value: string | null; readonly nodes: readonly string[] }[]
  readonly columns: readonly string[]
}

/** Returns for example `GATEHOOK_TRUST_PROXY (api-1: none, api-2: 10.0.0.0/8)`. */
export function describeDifference({ name, values, columns }: DifferenceFacts): string {
  const nodes = values.map(({ value, nodes: names }) =>
    value === null ? `${names.join(' and ')}: another secret` : `${names.join(' and ')}: ${value}`,
  )
  const fields = columns.length === 0 ? '' : `, columns ${columns.join(', ')}`
  return `${name}${fields} (${nodes.join(', ')})`
}
