/** Announced dates of versions (§8.5), their usage (§8.9), notices to customers (§8.10). */
import { byScope, int, serial, type Table, text } from '../../platform/storage/table.ts'

const versionStatuses: Table = {
  name: 'gh_versions',
  row: 'The dates that an operator stored for a version.',
  columns: {
    version: text.plain,
    overrides: text.plain.or('{}'),
    revision: int.or(0),
  },
  key: ['version'],
  place: 'local',
  belongs: 'installation',
  stays: 'for ever',
}

const versionUsage: Table = {
  name: 'gh_version_usage',
  row: 'Requests of a caller on a route in a version. `subject`: of a workload (§16.8).',
  columns: {
    no: serial,
    version: text.plain,
    scope: int,
    customer: text.plain,
    key_id: text.plain,
    client_id: text.plain,
    subject: text.personal.or(''),
    method: text.plain,
    route: text.plain,
    count: int,
    last_at: int,
  },
  key: ['no'],
  place: 'scope',
  belongs: byScope,
  followsRequests: true,
  indexes: {
    caller: {
      on: 'version, scope, key_id, client_id, subject, method, route',
      unique: true,
      serves: 'the count of a caller',
    },
    last: { on: 'version, last_at, no', serves: 'callers by time' },
    no: { on: 'version, no', serves: 'callers in order' },
  },
  stays: '90 days after the last request',
  ofNodes: true,
}

const versionNotices: Table = {
  name: 'gh_version_notices',
  row: 'A notice that a customer has received.',
  columns: {
    version: text.plain,
    notice: text.plain,
    scope: int,
    sent_at: int,
  },
  key: ['version', 'notice', 'scope'],
  place: 'scope',
  belongs: byScope,
  stays: 'for ever',
}

export const versionsTables: readonly Table[] = [versionStatuses, versionUsage, versionNotices]
