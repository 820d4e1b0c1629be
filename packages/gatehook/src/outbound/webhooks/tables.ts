/** Replays of registrations in the background (§9.14). */
import { byScope, int, type Table, text } from '../../platform/storage/table.ts'

const webhookReplays: Table = {
  name: 'gh_webhook_replays',
  row:
    'The newest replay of a registration. `position` is the last processed id, `until_id` the ' +
    'last id to process; `ended_at` is null while it runs, `batch_at` the time of its last ' +
    'batch. Jobs of the kind `replay` run it.',
  columns: {
    webhook_no: int,
    kind: text.plain,
    since: int,
    types: text.plain,
    position: text.plain,
    until_id: text.plain,
    count: int,
    done: int.or(0),
    started_at: int,
    ended_at: int.orNull,
    outcome: text.plain.orNull,
    batch_at: int.or(0),
    scope: int,
  },
  key: ['webhook_no'],
  place: 'scope',
  belongs: byScope,
  indexes: {
    running: { on: 'scope, batch_at', where: 'ended_at IS NULL', serves: 'the next batch' },
    key: { on: 'scope, webhook_no', unique: true, serves: 'upserts by scope' },
  },
  stays: 'as long as its registration',
}

export const webhooksTables: readonly Table[] = [webhookReplays]
