/** One operator: its facts, its sessions, and the operations on it. */
import { withQuery } from '../../api.ts'
import { href } from '../../router.ts'
import type { Page } from '../api-shapes.ts'
import type { OpenRow } from '../list-screen.tsx'
import { ObjectFacts } from '../object-facts.tsx'
import { RowDrawer } from '../row-drawer.tsx'
import { mayChange, session } from '../session.ts'
import { operations } from './operator-operations.tsx'
import { OperatorSessions } from './operator-sessions.tsx'
import { type OperatorRow, ROLE_MEANINGS } from './operator-shapes.ts'
import { OwnPasskeys } from './own-passkeys.tsx'

export const OperatorDrawer = (props: OpenRow) => (
  <RowDrawer<Page<OperatorRow>, OperatorRow>
    {...props}
    path={withQuery('/admin/operators', { id: props.id, limit: 1 })}
    noun="operator"
    gone="It never existed."
    rowOf={({ data }) => data[0]}
    nameOf={({ email }) => email}
    facts={OperatorFacts}
    operations={operations}
    fixed={({ id }) =>
      mayChange('administrator') &&
      id === session.value?.operator && (
        <p class="soft small">Another administrator must change your own account.</p>
      )
    }
    more={({ id, issuer }, changes) => (
      <>
        {id === session.value?.operator && issuer === null && <OwnPasskeys />}
        <OperatorSessions key={changes} operator={id} />
      </>
    )}
  />
)

const OperatorFacts = ({ row }: { readonly row: OperatorRow }) => (
  <ObjectFacts
    of="Operator"
    noun="operator"
    row={row}
    omit={['email']}
    cells={{ role: ({ role }) => `${role}: ${ROLE_MEANINGS[role]}` }}
    more={[
      ['Operations', <a href={href('/console/audit', { who: row.id })}>in the audit trail</a>],
    ]}
  />
)
