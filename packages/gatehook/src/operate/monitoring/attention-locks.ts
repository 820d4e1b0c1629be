/** Sessions of the database that hold locks, as items of attention. */
import { isoTime } from '../../kernel/time.ts'
import { type AttentionKind, itemOf } from './attention-kind.ts'

export const heldLocks: AttentionKind = async ({ lockHolders }) =>
  lockHolders().map(({ sinceMs, pid, ...holder }) => {
    const { application, user, state, statement, tables, waiting, awaitsStandby } = holder
    const id = String(pid)
    return itemOf('lock_held', 'bad', sinceMs, {
      subject: { type: 'session', id, label: application === '' ? id : `${application} (${id})` },
      facts: {
        ...{ pid, application, user, state, since: isoTime(sinceMs) },
        ...{ statement, tables, waiting, awaits_standby: awaitsStandby },
      },
    })
  })
