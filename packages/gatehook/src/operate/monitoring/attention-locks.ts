/** Sessions of the database that hold locks or event streams back, as items of attention. */
import { isoTime } from '../../kernel/time.ts'
import { describeQueue } from '../../platform/storage/lock-holders.ts'
import { nodeOfSession } from '../../platform/storage/session-name.ts'
import { type AttentionKind, itemOf } from './attention-kind.ts'

export const heldLocks: AttentionKind = async ({ lockHolders }) =>
  lockHolders().map((held) => {
    const { sinceMs, pid, isProcess } = held
    const { application, user, state, statement, tables, waiting } = held
    const id = String(pid)
    const [kind, severity] =
      waiting > 0 ? (['lock_held', 'bad'] as const) : (['streams_held', 'warn'] as const)
    return itemOf(kind, severity, sinceMs, {
      subject: {
        type: isProcess ? 'process' : 'session',
        id,
        label: application === '' ? id : `${application} (${id})`,
      },
      facts: {
        ...{
          pid,
          application,
          node: nodeOfSession(application) ?? null,
          user,
          state,
          since: isoTime(sinceMs),
        },
        ...{ statement, tables, waiting },
        queue: describeQueue(held) ?? null,
      },
    })
  })
