/** The breaking changes that a version introduced, for the callers that move to it. */
import { useLoaded } from '../../loaded.ts'
import { Part } from '../../parts/notices.tsx'
import { versionPath } from './version-shapes.ts'
import type { VersionChangelog } from './version-types.ts'

type Change = VersionChangelog['changes'][number]

export function Changes({ version }: { readonly version: string }) {
  const changelog = useLoaded<VersionChangelog>(`${versionPath(version)}/changelog`)
  return (
    <>
      <h3 class="gap">What {version} changed</h3>
      <Part of={changelog} subject="the changes">
        {({ changes }) =>
          changes.length === 0 ? (
            <p class="small soft">{version} only adds; a caller of an older version can move.</p>
          ) : (
            <ul class="changes">
              {changes.map((change, at) => (
                <li key={at}>
                  <ChangeWords {...change} />: {change.why}
                </li>
              ))}
            </ul>
          )
        }
      </Part>
    </>
  )
}

/** `orders.total became amount and currency` */
function ChangeWords({ resource, renamed, before, after }: Change) {
  const renames = Object.entries(renamed).map(([old, name]) => (
    <Words key={old} resource={resource} old={[old]} verb="is now" now={[name]} />
  ))
  const parts =
    before.length + after.length > 0 ? [...renames, replaced(resource, before, after)] : renames
  return parts.length === 0 ? (
    <code>{resource}</code>
  ) : (
    parts.map((part, at) => (
      <>
        {at > 0 && '; '}
        {part}
      </>
    ))
  )
}

function replaced(resource: string, before: readonly string[], after: readonly string[]) {
  const isSame = before.join() === after.join()
  if (isSame) return <Words key="same" resource={resource} old={before} verb="changed" now={[]} />
  if (before.length === 0) {
    const verb = after.length === 1 ? 'is new' : 'are new'
    return <Words key="new" resource={resource} old={after} verb={verb} now={[]} />
  }
  const verb = after.length === 0 ? 'left' : 'became'
  return <Words key="other" resource={resource} old={before} verb={verb} now={after} />
}

interface WordsProps {
  readonly resource: string
  readonly old: readonly string[]
  readonly verb: string
  readonly now: readonly string[]
}

const Words = ({ resource, old, verb, now }: WordsProps) => (
  <>
    <Codes names={old.map((name) => `${resource}.${name}`)} /> {verb}
    {now.length > 0 && ' '}
    <Codes names={now} />
  </>
)

const Codes = ({ names }: { readonly names: readonly string[] }) => (
  <>
    {names.map((name, at) => (
      <>
        {at > 0 && (at === names.length - 1 ? ' and ' : ', ')}
        <code>{name}</code>
      </>
    ))}
  </>
)
