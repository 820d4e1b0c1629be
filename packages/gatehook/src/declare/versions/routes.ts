/** `/admin/versions` (§13): calendars, and the callers of each version. */
import { actorOf } from '../../history/audit/store.ts'
import { Failure } from '../../kernel/failure.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Value } from '../../platform/storage/database.ts'
import { whileAvailable } from '../../platform/storage/storage-failure.ts'
import type { AnyMember } from '../../protocol/fields/members.ts'
import { writeFor } from '../../protocol/http/authorized-write.ts'
import type { Route } from '../../protocol/http/call.ts'
import { requireMatch } from '../../protocol/http/conditional.ts'
import { implement, respond } from '../../protocol/http/operation.ts'
import type { Collection, View } from '../../protocol/lists/collection.ts'
import type { Lister } from '../../protocol/lists/list.ts'
import {
  apiVersion,
  type CalendarUpdateDeps,
  representVersion,
  updateCalendar,
  type VersionRepresentation,
} from './calendar-update.ts'
import type { ChangelogEntry } from './changelog.ts'
import { type UsageRepresentation, versionOperations } from './operations.ts'
import type { UsageCounter } from './usage-counter.ts'
import type { VersionStatuses } from './version-statuses.ts'

interface VersionRouteDeps extends CalendarUpdateDeps {
  readonly list: Lister
  readonly usage: UsageCounter
  readonly changelog: readonly ChangelogEntry[]
}

/** Version names are declared, `v` and digits, and never request data. */
const sqlList = (versions: readonly string[]): string =>
  versions.map((version) => `'${version}'`).join(', ')

const versionCollection = (versions: readonly string[]): Collection => ({
  name: 'api_versions',
  table: 'gh_versions',
  columns: [{ name: 'version', type: 'text' }],
  scoped: false,
  filter: [],
  sort: ['version'],
  where: `version IN (${sqlList(versions)})`,
})

/** Creates a view whose items have the members of `represent(row)`, in their order. */
function viewOf<T extends object>(
  fields: readonly string[],
  represent: (row: readonly Value[]) => T,
  links: (row: readonly Value[]) => Record<string, string>,
): View {
  return {
    fields,
    item(row, options) {
      const members = Object.entries(represent(row)).filter(
        ([name]) => options.fields?.has(name) ?? true,
      )
      if (options.links) members.push(['_links', links(row)])
      return JSON.stringify(Object.fromEntries(members))
    },
  }
}

const fieldsOf = ({ spec }: AnyMember): readonly string[] => Object.keys(spec.members ?? {})

const versionView = (statuses: VersionStatuses): View =>
  viewOf<VersionRepresentation>(
    fieldsOf(apiVersion),
    ([version]) => representVersion(statuses.statusOf(String(version))!),
    ([version]) => ({
      self: `/admin/versions/${version}`,
      usage: `/admin/versions/${version}/usage`,
    }),
  )

const usageTextColumns = ['customer', 'key_id', 'client_id', 'subject', 'method', 'route'] as const
const usageColumns = [...usageTextColumns, 'count', 'last_at'] as const

const usageCollection = (version: string): Collection => ({
  name: `usage of ${version}`,
  table: 'gh_version_usage',
  columns: [
    { name: 'no', type: 'int' },
    ...usageTextColumns.map((name) => ({ name, type: 'text' }) as const),
    { name: 'count', type: 'int' },
    { name: 'last_at', type: 'time' },
  ],
  integerId: true,
  scoped: false,
  filter: usageColumns,
  sort: usageColumns,
  indexes: [['no'], ['last_at', 'no']],
  where: `version = '${version}'`,
})

/** Represents a row: its number, then the cells of `usageColumns`. */
function representUsage([, ...cells]: readonly Value[]): UsageRepresentation {
  const [customer, keyId, clientId, subject, method, route, count, lastMs] = cells
  return {
    customer: String(customer),
    key_id: keyId ? String(keyId) : null,
    client_id: clientId ? String(clientId) : null,
    ...(subject && { subject: String(subject) }),
    method: String(method),
    route: String(route),
    count: Number(count),
    last_at: isoTime(Number(lastMs)),
  }
}

const usageView: View = viewOf<UsageRepresentation>(usageColumns, representUsage, () => ({}))

export function versionRoutes(deps: VersionRouteDeps): Route[] {
  const { statuses, list, usage, changelog } = deps
  const versions = versionCollection(statuses.versions)
  const usageCollections = new Map(
    statuses.versions.map((version) => [version, usageCollection(version)]),
  )
  const view = versionView(statuses)
  return [
    implement(versionOperations.list, (call) => list(call, versions, view)),
    implement(versionOperations.read, ({ params }) => {
      const status = statuses.statusOf(params.version!)
      if (!status) throw new Failure('not_found')
      return respond(versionOperations.read, representVersion(status))
    }),
    implement(versionOperations.update, async (call, update) => {
      const { params } = call
      const status = statuses.statusOf(params.version!)
      if (status) requireMatch(call, () => JSON.stringify(representVersion(status)))
      const own = { ...deps, db: { write: writeFor(call, deps.db) } }
      const version = await updateCalendar(own, params.version!, update, actorOf(call))
      return respond(versionOperations.update, version)
    }),
    implement(versionOperations.changelog, ({ params }) => {
      const entry = changelog.find(({ version }) => version === params.version)
      if (!entry) throw new Failure('not_found')
      return respond(versionOperations.changelog, entry)
    }),
    implement(versionOperations.usage, async (call) => {
      const collection = usageCollections.get(call.params.version!)
      if (!collection) throw new Failure('not_found')
      // Includes all counts of this node. Other nodes flush within seconds.
      await whileAvailable(usage.flush(), undefined)
      return list(call, collection, usageView)
    }),
  ]
}
