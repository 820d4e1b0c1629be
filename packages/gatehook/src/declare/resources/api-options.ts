/** The options of `resource(…)` that only an API has (§15.1). Pure. */

/** Options of `resource(…)` that only an API has. */
const API_OPTIONS = ['batch', 'export', 'softDelete', 'search', 'maxBodyBytes', 'mcp'] as const

/** Reports options of a resource without an API, as plain JavaScript passes them. */
export function findOptionsOfApi(
  options: Readonly<Partial<Record<(typeof API_OPTIONS)[number] | 'events', unknown>>>,
): string[] {
  const { events = [] } = options
  const hasEvents = !Array.isArray(events) || events.length > 0
  const names = API_OPTIONS.filter((name) => options[name] !== undefined)
  return [...(hasEvents ? ['events'] : []), ...names].map((name) => withoutApi(name))
}

/** Says that a word needs an API, with the correction. */
export const withoutApi = (word: string, cure = `omit ${word}`): string =>
  `${word}: access is false, so that own code alone uses the rows: ${cure}`
