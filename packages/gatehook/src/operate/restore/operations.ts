/** The operations on an installation whose data was restored (§18.5). */

import { isoTime } from '../../kernel/time.ts'
import { b, type JsonOf } from '../../protocol/fields/members.ts'
import { operation } from '../../protocol/http/operation.ts'
import { isHeld, RESTORE_REASONS, REVOCATION_STATES, type RestoreState } from './state.ts'

export const restoreMember = b
  .object({
    held: b.bool().describe('Whether deliveries, jobs and mail are held.').example(false),
    recognized_at: b
      .time()
      .nullable()
      .describe('The start that recognized restored data last; null without one.'),
    reason: b
      .oneOf(RESTORE_REASONS)
      .nullable()
      .describe(
        'How it did: `copy`, the database is not that of the last start; `host`, the public ' +
          'host changed; `option`, `start --restored`.',
      ),
    data_through: b.time().nullable().describe('The newest audit entry of the restored data.'),
    released_at: b.time().nullable().describe('The instant of the release.'),
    revocations: b
      .oneOf(REVOCATION_STATES)
      .nullable()
      .describe(
        'Whether revocations after `data_through` are `unknown`, `applied` from a file, or ' +
          '`confirmed` by an operator.',
      ),
  })
  .named('Restore')

export type RestoreJson = JsonOf<typeof restoreMember>

const timeOf = (ms: number | null | undefined) => (ms == null ? null : isoTime(ms))

export const restoreJson = (state: RestoreState | undefined): RestoreJson => ({
  held: isHeld(state),
  recognized_at: timeOf(state?.recognized_at),
  reason: state?.reason ?? null,
  data_through: timeOf(state?.data_through),
  released_at: timeOf(state?.released_at),
  revocations: state?.revocations ?? null,
})

export const restoreOperations = {
  release: operation('POST /admin/restore/release', {
    id: 'release_restore',
    summary: 'Release the deliveries, jobs and mail of a restored installation',
    output: restoreMember,
  }),
  confirm: operation('POST /admin/restore/confirm', {
    id: 'confirm_restore',
    summary: 'Confirm that no revocation since the backup is missing',
    output: restoreMember,
  }),
}
