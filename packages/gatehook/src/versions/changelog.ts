/**
 * What changed with each version, from the reasons given in `.before()` (§8.8). Pure: the CLI, the
 * docs and the console show what is made here. Calendars are not here, `calendar.ts` has them.
 */
import type { Change } from './change.ts'

/** What is read of a service; its definition fits. */
export interface Changing {
  readonly versions: readonly { readonly name: string; readonly released: string }[]
  readonly resources: readonly { readonly name: string; readonly changes: readonly Change[] }[]
}

/** One breaking change, as those who move to the version need it. */
export interface ChangelogLine {
  /** The collection: `orders`. */
  readonly resource: string
  readonly why: string
  /** Old name → new name: the value is the same. */
  readonly renamed: Readonly<Record<string, string>>
  /** Fields of the version before that are gone or became something else. */
  readonly before: readonly string[]
  /** Fields that stand in their place; a name on both sides changed its meaning or type. */
  readonly after: readonly string[]
}

export interface ChangelogEntry {
  readonly version: string
  /** `YYYY-MM-DD`. */
  readonly released: string
  /** Empty where a version only added. */
  readonly changes: readonly ChangelogLine[]
}

/** Every version with its breaking changes, the newest version first. */
export function changelogOf({ versions, resources }: Changing): ChangelogEntry[] {
  return versions.toReversed().map(({ name: version, released }) => ({
    version,
    released,
    changes: resources.flatMap(({ name: resource, changes }) =>
      changes.filter((one) => one.version === version).map((change) => line(resource, change)),
    ),
  }))
}

function line(resource: string, { why, had, hadNot, renamed }: Change): ChangelogLine {
  const olds = Object.keys(renamed)
  const news = Object.values(renamed)
  return {
    resource,
    why,
    renamed,
    before: Object.keys(had).filter((name) => !olds.includes(name)),
    after: hadNot.filter((name) => !news.includes(name)),
  }
}

/** What a line says of fields: `mail → email; first, last in place of full_name`. */
export function fieldsOf({ renamed, before, after }: ChangelogLine): string {
  const parts = Object.entries(renamed).map(([old, now]) => `${old} → ${now}`)
  const [were, are] = [before.join(', '), after.join(', ')]
  if (were !== '' && were === are) parts.push(`${were} changed`)
  else if (were !== '' && are !== '') parts.push(`${are} in place of ${were}`)
  else if (were !== '') parts.push(`${were} removed`)
  else if (are !== '') parts.push(`${are} new`)
  return parts.join('; ')
}

/** The changelog as Markdown, one section a version. */
export function changelogMarkdown(entries: readonly ChangelogEntry[]): string {
  return entries
    .map(({ version, released, changes }) => {
      const lines = changes.map((one) => `- **${one.resource}**: ${one.why} (${fieldsOf(one)})`)
      const body = lines.length > 0 ? lines.join('\n') : 'Nothing that breaks a caller.'
      return `## ${version} (${released})\n\n${body}\n`
    })
    .join('\n')
}
