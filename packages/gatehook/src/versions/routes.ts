/** `/admin/versions` (§13): what is announced, and who still calls. */
import { actorOf } from '../audit/store.ts'
import { json, type Route, route } from '../http/call.ts'
import { requireMatch } from '../http/conditional.ts'
import { Failure } from '../kernel/failure.ts'
import { isoTime } from '../kernel/time.ts'
import type { Collection, View } from '../lists/collection.ts'
import type { Lister } from '../lists/list.ts'
import type { Value } from '../storage/database.ts'
import { type AnnounceDeps, announce, type ShownVersion, shownVersion } from './announce.ts'
import type { Board } from './board.ts'
import type { Ledger } from './ledger.ts'

export interface VersionRouteDeps extends AnnounceDeps {
  readonly list: Lister
  readonly ledger: Ledger
}

/** Names of versions are declared, `v` and digits: never request data. */
const named = (versions: readonly string[]): string =>
  versions.map((version) => `'${version}'`).join(', ')

const versionList = (versions: readonly string[]): Collection => ({
  name: 'api_versions',
  table: 'gh_versions',
  columns: [{ name: 'version', type: 'text' }],
  integerId: false,
  scoped: false,
  counted: false,
  filter: [],
  sort: ['version'],
  where: `version IN (${named(versions)})`,
})

/** An item made of what a row stands for, in the order of its members. */
function viewOf<T extends object>(
  fields: readonly (keyof T & string)[],
  show: (row: readonly Value[]) => T,
  links: (row: readonly Value[]) => Record<string, string>,
): View {
  return {
    fields,
    item(row, options) {
      const all = Object.entries(show(row))
      const shown = options.fields ? all.filter(([name]) => options.fields!.has(name)) : all
      if (options.links) shown.push(['_links', links(row)])
      return JSON.stringify(Object.fromEntries(shown))
    },
  }
}

const versionFields: readonly (keyof ShownVersion)[] = [
  ...(['version', 'state', 'released', 'deprecated_at', 'sunset_at'] as const),
  ...(['successor', 'migration_guide', 'sunset_link', 'brownouts'] as const),
]

const versionView = (board: Board): View =>
  viewOf<ShownVersion>(
    versionFields,
    ([version]) => shownVersion(board.standing(String(version))!),
    ([version]) => ({
      self: `/admin/versions/${version}`,
      usage: `/admin/versions/${version}/usage`,
    }),
  )

const usageColumns = ['customer', 'key_id', 'client_id', 'method', 'route', 'count', 'last_at']

const usageList = (version: string): Collection => ({
  name: `usage of ${version}`,
  table: 'gh_version_usage',
  columns: [
    { name: 'no', type: 'int' },
    ...(['customer', 'key_id', 'client_id', 'method', 'route'] as const).map(
      (name) => ({ name, type: 'text' }) as const,
    ),
    { name: 'count', type: 'int' },
    { name: 'last_at', type: 'time' },
  ],
  integerId: true,
  scoped: false,
  counted: false,
  filter: usageColumns,
  sort: usageColumns,
  indexes: [['no'], ['last_at', 'no']],
  where: `version = '${version}'`,
})

/** One caller on one route, as `/admin/versions/{v}/usage` lists it. */
export interface ShownUsage {
  readonly customer: string
  readonly key_id: string | null
  readonly client_id: string | null
  readonly method: string
  readonly route: string
  readonly count: number
  readonly last_at: string
}

/** From the cells of `usageColumns`, behind the row's number. */
export function shownUsage([, ...cells]: readonly Value[]): ShownUsage {
  const [customer, keyId, clientId, method, route, count, lastMs] = cells
  return {
    customer: String(customer),
    key_id: keyId ? String(keyId) : null,
    client_id: clientId ? String(clientId) : null,
    method: String(method),
    route: String(route),
    count: Number(count),
    last_at: isoTime(Number(lastMs)),
  }
}

const usageView: View = viewOf<ShownUsage>(
  usageColumns as (keyof ShownUsage)[],
  shownUsage,
  () => ({}),
)

export function versionRoutes(deps: VersionRouteDeps): Route[] {
  const { board, list, ledger } = deps
  const all = versionList(board.versions)
  const usages = new Map(board.versions.map((version) => [version, usageList(version)]))
  const view = versionView(board)
  return [
    route('/admin/versions', {
      GET: { handle: (call) => list(call, all, view) },
    }),
    route('/admin/versions/:version', {
      GET: {
        handle({ params }) {
          const standing = board.standing(params.version!)
          if (!standing) throw new Failure('not_found')
          return json(200, shownVersion(standing))
        },
      },
      PUT: {
        body: 'required',
        async handle(call) {
          const { params, body } = call
          const standing = board.standing(params.version!)
          if (standing) requireMatch(call, () => JSON.stringify(shownVersion(standing)))
          return json(200, await announce(deps, params.version!, body, actorOf(call)))
        },
      },
    }),
    route('/admin/versions/:version/usage', {
      GET: {
        async handle(call) {
          const collection = usages.get(call.params.version!)
          if (!collection) throw new Failure('not_found')
          // What this node has counted is told at once; the others' within a flush.
          await ledger.flush()
          return list(call, collection, usageView)
        },
      },
    }),
  ]
}
