/** The titles of resources beside the pages of the console, one of which has these titles. */

const reserved = new Set<string>()

/** Called by the table of pages. */
export function reserveLabels(labels: readonly string[]): void {
  for (const label of labels) reserved.add(label.toLowerCase())
}

/** Returns the title of a resource. One with the name of a page, such as `customers`, says so. */
export const dataLabel = (name: string): string =>
  reserved.has(name.toLowerCase()) ? `${name} (rows)` : name
