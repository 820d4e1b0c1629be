/** `gatehook versions …`: the calendar of API versions and their callers (§8, §13). */

import { apiVersion, type VersionRepresentation } from '../declare/versions/calendar-update.ts'
import { changelogMarkdown, changelogOf } from '../declare/versions/changelog.ts'
import {
  type UsageRepresentation,
  versionOperations,
  versionUsage,
} from '../declare/versions/operations.ts'
import { isoTime, parseTime } from '../kernel/time.ts'
import { type VersionCallerRow, versionCaller } from '../operate/monitoring/version-operations.ts'
import type { Members } from '../protocol/fields/members.ts'
import { type Api, administration } from './api.ts'
import { instantOf, parseDuration } from './arguments.ts'
import type { BodyWords } from './body-options.ts'
import type { CommandDescription, CommandFamily, Input } from './command.ts'
import { CommandError, UsageError } from './errors.ts'
import { installationOptions } from './installation.ts'
import { operationCommand } from './operation-command.ts'
import { alarm, bold, dim, table } from './output.ts'
import { serviceOf } from './service-file.ts'

const day = (instant: string | null): string => instant?.slice(0, 10) ?? dim('-')

/** Returns the path of a version. Throws `CommandError` for an undeclared one. */
function pathOf(api: Api, version = ''): string {
  const names = api.service.versions.map(({ name }) => name)
  if (names.includes(version)) return `/admin/versions/${version}`
  throw new CommandError(`There is no version ${version}; there are ${names.join(', ')}.`)
}

/** Every version, oldest first. */
async function allVersions(api: Api): Promise<VersionRepresentation[]> {
  const rows: VersionRepresentation[] = await api.list('/admin/versions')
  const order = api.service.versions.map(({ name }) => name)
  return rows.sort((a, b) => order.indexOf(a.version) - order.indexOf(b.version))
}

const servedVersions = async (api: Api): Promise<string[]> =>
  (await allVersions(api)).flatMap(({ version, state }) => (state === 'retired' ? [] : [version]))

interface Announcement extends CommandDescription {
  readonly input: Members
  readonly words?: BodyWords
  /** Returns the body of `PUT /admin/versions/{version}`, without `force`. */
  readonly bodyOf: (
    input: Input,
    api: Api,
    current: VersionRepresentation,
    body: Readonly<Record<string, unknown>>,
  ) => Promise<Readonly<Record<string, unknown>>>
  readonly describe: (version: VersionRepresentation, api: Api) => Promise<string> | string
}

const { update } = versionOperations

/** A command that changes the calendar. Where `force` is missing, the error names `--force`. */
const announcement = ({ input: members, bodyOf, describe, ...description }: Announcement) =>
  operationCommand<VersionRepresentation>(administration, {
    ...description,
    operation: { ...update, input: members },
    async complete({ force = false, ...body }, api, input) {
      const current = await api.request('GET', pathOf(api, input.args[0]))
      return { ...(await bodyOf(input, api, current, body)), force }
    },
    explain(error) {
      const { error: code, message, errors } = error.response.body ?? {}
      if (code !== 'notice_too_short') return error
      return new CommandError(`${errors?.[0]?.message ?? message} To do it anyway: --force`)
    },
    describe: (version, _, api) => describe(version, api),
  })

const deprecate = announcement({
  name: 'deprecate <VERSION>',
  summary: 'announces the end of a version',
  description:
    'Every response of the version announces the deprecation; from the sunset on, requests get ' +
    '410. Running nodes follow within two seconds.',
  input: update.input!,
  words: {
    brownouts: false,
    deprecated_at: { option: 'at', meaning: 'when the deprecation begins (default: now)' },
    sunset_at: { meaning: 'the day it retires: 2027-12-01, or a span from now' },
    successor: { meaning: 'the version to move to (default: the next one)' },
    migration_guide: { option: 'guide', meaning: 'the migration guide' },
    sunset_link: { option: 'link' },
    force: { meaning: 'with less than six months of notice' },
  },
  examples: [['gatehook versions deprecate v1 --sunset 2027-12-01', 'notifies callers at once']],
  bodyOf: async (_, api, { deprecated_at }, body) => ({
    deprecated_at: deprecated_at ?? isoTime(await api.now()),
    ...body,
  }),
  describe: ({ version, deprecated_at, sunset_at, successor }) =>
    `${bold(version)} is deprecated from ${day(deprecated_at)} on` +
    `${sunset_at === null ? '' : ` and retires at ${sunset_at}`}` +
    `${successor === null ? '' : `; responses name ${successor} as its successor`}. ` +
    `Its callers: gatehook versions usage ${version}`,
})

const brownout = announcement({
  name: 'brownout <VERSION>',
  summary: 'disables a version for a while, so that callers notice',
  options: [
    ['--start <WHEN>', 'when it begins'],
    ['--for <SPAN>', 'how long: 1h'],
    ['--clear', 'removes all brownouts'],
  ],
  examples: [
    ['gatehook versions brownout v1 --start 2027-11-01T10:00Z --for 1h', 'an hour of 410'],
  ],
  input: {},
  async bodyOf({ options: { start, for: length, clear } }, api, { brownouts }) {
    if (clear) return { brownouts: [] }
    const spanS = parseDuration(String(length ?? ''))
    const begin = await instantOf(start, api.now)
    if (begin === undefined || spanS === undefined) {
      throw new UsageError('Say when and how long: --start 2027-05-01T10:00Z --for 1h')
    }
    const end = isoTime((parseTime(begin) ?? 0) + spanS * 1000)
    return { brownouts: [...brownouts, { start: begin, end }] }
  },
  describe: ({ version, brownouts }) =>
    brownouts.length === 0
      ? `${bold(version)} has no brownouts.`
      : table(
          ['start', 'end'],
          brownouts.map(({ start, end }) => [start, end]),
        ),
})

const retire = announcement({
  name: 'retire <VERSION>',
  summary: 'ends a version now',
  input: { force: update.input!.force },
  words: { force: { meaning: 'without notice; also the last version that is served' } },
  examples: [['gatehook versions retire v1 --force', 'even if it has callers']],
  async bodyOf({ options: { force } }, api, { version, state, sunset_at }) {
    // Callers saw that instant: it does not change.
    if (state === 'retired') return { sunset_at }
    if (force !== true && (await servedVersions(api)).every((served) => served === version)) {
      throw new CommandError(
        `${version} is the last version that is served: without it, every request to the API ` +
          'gets 410. To do it anyway: --force',
      )
    }
    return { sunset_at: isoTime(await api.now()) }
  },
  async describe({ version, successor }, api) {
    const link = successor === null ? '' : ` and a link to ${successor}`
    const retired = `${bold(version)} is retired: its requests get 410${link}.`
    if ((await servedVersions(api)).length > 0) return retired
    return (
      `${retired}\n${alarm('No version is served any more')}: every request to the API gets 410. ` +
      `To undo: gatehook versions deprecate ${version} --sunset 180d --force`
    )
  },
})

async function printChangelog(input: Input): Promise<undefined> {
  const { definition } = await serviceOf(input)
  const [version] = input.args
  const entries = changelogOf(definition).filter(
    (entry) => version === undefined || entry.version === version,
  )
  if (entries.length === 0) throw new CommandError(`There is no version ${version}.`)
  input.out.result({ data: entries }, () => changelogMarkdown(entries))
  return
}

/** Callers beyond it are not listed. */
const CALLERS_MAX = 1000

async function allCallers(api: Api, path: string): Promise<VersionCallerRow[]> {
  const rows: VersionCallerRow[] = []
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? '' : `?cursor=${encodeURIComponent(cursor)}`
    const page = await api.request('GET', path + query)
    rows.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null && rows.length < CALLERS_MAX)
  return rows
}

export const versions: CommandFamily = {
  name: 'versions',
  summary: 'versions of the API: list, usage, callers, deprecate, brownout, retire, changelog',
  commands: [
    administration.list<VersionRepresentation>({
      name: 'list',
      summary: 'every version and its calendar',
      examples: [['gatehook versions list --json', 'for programs']],
      rows: allVersions,
      columns: apiVersion,
      cells: {
        deprecated_at: ({ deprecated_at }) => day(deprecated_at),
        sunset_at: ({ sunset_at }) => day(sunset_at),
      },
    }),
    administration.list<UsageRepresentation>({
      name: 'usage <VERSION>',
      summary: 'callers of a version, by route',
      description: 'Running nodes store their counts every three seconds.',
      examples: [['gatehook versions usage v1', 'the latest request first']],
      rows: (api, { args: [version] }) => api.list(`${pathOf(api, version)}/usage?sort=-last_at`),
      empty: ({ args: [version] }) => `There are no requests to ${version}.`,
      columns: versionUsage,
      cells: {
        key_id: ({ key_id, client_id }) => key_id ?? client_id ?? dim('-'),
        route: ({ method, route }) => `${method} ${route}`,
      },
    }),
    administration.list<VersionCallerRow>({
      name: 'callers <VERSION>',
      summary: 'who calls a version, with trend and contact',
      description: 'The callers of most requests in the last 30 days, then pinned endpoints.',
      examples: [['gatehook versions callers v1 --json', 'with routes and requests by day']],
      rows: (api, { args: [version] }) => allCallers(api, `${pathOf(api, version)}/callers`),
      empty: ({ args: [version] }) => `There are no requests to ${version}.`,
      columns: versionCaller,
      cells: {
        customer_name: ({ customer, customer_name: name }) => name ?? customer ?? dim('-'),
        name: ({ kind, name, id }) => `${kind} ${name ?? id ?? ''}`.trim(),
      },
    }),
    deprecate,
    brownout,
    retire,
    {
      name: 'changelog [VERSION]',
      summary: 'breaking changes of each version, from the declaration',
      options: installationOptions,
      examples: [['gatehook versions changelog > CHANGELOG-API.md', 'as Markdown']],
      run: printChangelog,
    },
  ],
}
