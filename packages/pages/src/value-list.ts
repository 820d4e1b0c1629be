/** The text of a list in a query (§7.7), by spec/vectors/value-lists.json. */

const needsQuotes = (value: string): boolean => value === '' || /[",]/.test(value)

/** Returns the list of a filter `[in]`: values that its commas would separate are in quotes. */
export const valueListText = (values: readonly string[]): string =>
  values.map((value) => (needsQuotes(value) ? `"${value.replaceAll('"', '""')}"` : value)).join(',')
