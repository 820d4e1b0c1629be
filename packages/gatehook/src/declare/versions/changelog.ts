/**
 * The changelog of the versions, from the reasons in `.before()` (§8.8). Pure. The CLI, the docs
 * and the console print it; `calendar.ts` has the dates of versions.
 */
import type { Change } from './change.ts'

/** A change of fields, without its conversions. */
type FieldChange = Pick<Change, 'version' | 'why' | 'had' | 'hadNot' | 'renamed'>

/** The part of a service definition that the changelog reads. */
export interface ChangelogSource {
  readonly versions: readonly { readonly name: string; readonly released: string }[]
  readonly resources: readonly ChangedCollection[]
  readonly routes: readonly ChangedRoute[]
}

interface ChangedCollection {
  readonly name: string
  readonly changes: readonly FieldChange[]
  readonly actions?: readonly {
    readonly name: string
    /** The changes of its body. */
    readonly inputChanges: readonly FieldChange[]
  }[]
}

/** A route whose query, input or output changed, or an action whose body did. */
export interface ChangedRoute {
  readonly method: string
  /** `/quotes/:id`. */
  readonly path: string
  readonly changes: readonly FieldChange[]
}

/** One breaking change, for callers who migrate. */
interface ChangelogLine {
  /** The collection: `orders`; or a route: `POST /quotes`. */
  readonly resource: string
  readonly why: string
  /** Old name → new name of fields with an unchanged value. */
  readonly renamed: Readonly<Record<string, string>>
  /** Fields that the change removed or converted. */
  readonly before: readonly string[]
  /** Their replacements. A name in both lists has a new meaning or type. */
  readonly after: readonly string[]
}

export interface ChangelogEntry {
  readonly version: string
  /** `YYYY-MM-DD`. */
  readonly released: string
  /** Empty for a version with additions only. */
  readonly changes: readonly ChangelogLine[]
}

/** Returns the routes of own code and those of actions. */
export const listChangedRoutes = ({
  resources,
  routes,
}: Omit<ChangelogSource, 'versions'>): ChangedRoute[] => [
  ...resources.flatMap(({ name: collection, actions = [] }) =>
    actions.map(({ name, inputChanges }) => ({
      method: 'POST',
      path: `/${collection}/:id/${name}`,
      changes: inputChanges,
    })),
  ),
  ...routes,
]

/** Returns every version with its breaking changes, newest first. */
export function changelogOf({ versions, resources, routes }: ChangelogSource): ChangelogEntry[] {
  const sources = [
    ...resources,
    ...listChangedRoutes({ resources, routes }).map(({ method, path, changes }) => ({
      name: `${method} ${path}`,
      changes,
    })),
  ]
  return versions.toReversed().map(({ name: version, released }) => ({
    version,
    released,
    changes: sources.flatMap(({ name: resource, changes }) =>
      changes
        .filter((change) => change.version === version)
        .map((change) => changelogLine(resource, change)),
    ),
  }))
}

function changelogLine(
  resource: string,
  { why, had, hadNot, renamed }: FieldChange,
): ChangelogLine {
  return {
    resource,
    why,
    renamed,
    before: Object.keys(had).filter((name) => !Object.hasOwn(renamed, name)),
    after: hadNot.filter((name) => !Object.values(renamed).includes(name)),
  }
}

/** Returns a summary of the fields: `mail → email; first, last in place of full_name`. */
export function summarizeFields({ renamed, before, after }: ChangelogLine): string {
  const parts = Object.entries(renamed).map(([old, now]) => `${old} → ${now}`)
  const [removed, added] = [before.join(', '), after.join(', ')]
  if (removed !== '' && removed === added) parts.push(`${removed} changed`)
  else if (removed !== '' && added !== '') parts.push(`${added} in place of ${removed}`)
  else if (removed !== '') parts.push(`${removed} removed`)
  else if (added !== '') parts.push(`${added} new`)
  return parts.join('; ')
}

/** Formats the changelog as Markdown, one section per version. */
export function changelogMarkdown(entries: readonly ChangelogEntry[]): string {
  return entries
    .map(({ version, released, changes }) => {
      const lines = changes.map(
        (line) => `- **${line.resource}**: ${line.why} (${summarizeFields(line)})`,
      )
      const body = lines.length > 0 ? lines.join('\n') : 'No breaking changes.'
      return `## ${version} (${released})\n\n${body}\n`
    })
    .join('\n')
}
