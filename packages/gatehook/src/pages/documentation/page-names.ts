/** The names of pages that every service has; a collection of the same name gets another. */

const PLATFORM_PAGES = [
  'start',
  'agents',
  'authentication',
  'tokens',
  'lists',
  'repeats',
  'versions',
  'limits',
  'errors',
  'webhooks',
  'events',
  'endpoints',
  'changelog',
] as const

/** Returns the page name of a collection. A hyphen occurs in no name of a collection. */
export const pageNameOf = (collection: string): string =>
  (PLATFORM_PAGES as readonly string[]).includes(collection) ? `all-${collection}` : collection
