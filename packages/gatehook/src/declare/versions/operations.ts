/** The operations on versions (§13): calendars, and the callers of each version. */
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { apiVersion, calendarUpdate } from './calendar-update.ts'

/** The requests of one caller on one route. */
export const versionUsage = b
  .object({
    customer: b.text().example('cus_01jdq8w9vgk7'),
    key_id: b.text().nullable().describe('The key of the caller.').example('key_01jdq8w9vgk7'),
    client_id: b
      .text()
      .nullable()
      .describe('The OAuth client of the caller, or the issuer of a workload.')
      .example(null),
    subject: b
      .text()
      .optional()
      .describe('`issuer|sub` of a workload; absent for those beyond 200 of an issuer.')
      .example('https://ci.example|repo:acme/shop'),
    method: b.text().describe('The HTTP method.').example('GET'),
    route: b.text().describe('The path, with parameters as `:name`.').example('/api/protected'),
    count: b.int(0).describe('The number of requests.').example(120),
    last_at: b.time().describe('The last request.'),
  })
  .named('VersionUsage')
  .columns({
    customer: {},
    key_id: { title: 'key or client' },
    count: { title: 'requests' },
    last_at: { title: 'last request', as: 'time' },
    route: { isWide: true },
  })

/** A breaking change of a version, for callers who migrate to it. */
const versionChange = b
  .object({
    resource: b.text().describe('The collection, or a route: `POST /quotes`.').example('things'),
    why: b.text().describe('The reason for the change.').example('Amounts have a currency.'),
    renamed: b
      .map(b.text())
      .describe('Fields that have another name: the old name and the new one.')
      .example({ mail: 'email' }),
    before: b.list(b.text()).describe('Fields that the change removed or converted.'),
    after: b.list(b.text()).describe('Their replacements.'),
  })
  .named('VersionChange')

const versionChangelog = b
  .object({
    version: b.text().example('v2'),
    released: b.text().describe('The day of the release.').example('2026-06-01'),
    changes: b.list(versionChange).describe('Empty for a version with additions only.'),
  })
  .named('VersionChangelog')

export type UsageRepresentation = JsonOf<typeof versionUsage>

export const versionOperations = {
  list: operation('GET /admin/versions', {
    id: 'list_versions',
    summary: 'List the versions with their calendars',
    output: b.page(apiVersion),
  }),
  read: operation('GET /admin/versions/:version', {
    id: 'get_version',
    summary: 'Read a version',
    output: apiVersion,
  }),
  update: operation('PUT /admin/versions/:version', {
    id: 'update_version',
    summary: 'Change the calendar of a version',
    description: 'Omitted members stay as they are; `null` removes an announcement.',
    input: calendarUpdate,
    headers: ['If-Match'],
    output: apiVersion,
    errors: ['notice_too_short'],
  }),
  changelog: operation('GET /admin/versions/:version/changelog', {
    id: 'read_version_changelog',
    summary: 'Read the breaking changes that a version introduced',
    output: versionChangelog,
  }),
  usage: operation('GET /admin/versions/:version/usage', {
    id: 'list_version_usage',
    summary: 'List the callers of a version',
    output: b.page(versionUsage),
  }),
}
