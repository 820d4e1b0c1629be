/** The labels of the console's pages, and the titles of resources beside them. */

const pageLabels = [
  'Overview',
  'Requests',
  'Events',
  'Webhooks',
  'Jobs',
  'Delivery',
  'Versions',
  'Keys',
  'Clients',
  'Issuers',
  'Customers',
  'Data',
  'Audit',
  'Operators',
  'System',
  'Set up',
  'Parts',
] as const

export type PageLabel = (typeof pageLabels)[number]

const taken: ReadonlySet<string> = new Set(pageLabels.map((label) => label.toLowerCase()))

/** Returns the title of a resource. One with the name of a page, such as `customers`, says so. */
export const dataLabel = (name: string): string =>
  taken.has(name.toLowerCase()) ? `${name} (rows)` : name
