/** Sessions of the console: those of one operator, or all. */
import { useState } from 'preact/hooks'
import { send, withQuery } from '../../api.ts'
import { slowNow } from '../../clock.ts'
import { ago, instant } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Part } from '../../parts/notices.tsx'
import { State } from '../../parts/state.tsx'
import { type Column, Sub, Table } from '../../parts/table.tsx'
import { say } from '../../parts/toast.tsx'
import { href } from '../../router.ts'
import type { OperatorSession } from '../admin-types.ts'
import type { Page } from '../api-shapes.ts'
import { mayChange } from '../session.ts'

const PATH = '/admin/operator-sessions'

function Owner({ operator, email }: Pick<OperatorSession, 'operator' | 'email'>) {
  if (operator === null) return 'one-time link'
  return <a href={href(`/console/operators/${operator}`)}>{email ?? operator}</a>
}

/** A link opens a session without a second factor. */
function factorState({ verified, second_factor: hasFactor }: OperatorSession) {
  if (!verified) return <State tone="warn">Open</State>
  return hasFactor ? <State tone="ok">Verified</State> : <State tone="idle">None yet</State>
}

const lastUse = ({ last_used_at: at }: OperatorSession): string => ago(at, slowNow().value)

/** The columns of the list of all sessions. */
const allColumns: readonly Column<OperatorSession>[] = [
  {
    name: 'operator',
    label: 'Operator',
    isMain: true,
    cell: (row) => (
      <>
        <Owner {...row} />
        <Sub>
          {row.address} · {lastUse(row)}
        </Sub>
      </>
    ),
  },
  { name: 'factor', label: 'Second factor', priority: 3, cell: factorState },
  { name: 'address', label: 'From', priority: 2, cell: ({ address }) => address },
  {
    name: 'since',
    label: 'Since (UTC)',
    priority: 3,
    cell: ({ created_at: at }) => <time dateTime={at}>{instant(at)}</time>,
  },
  { name: 'used', label: 'Last used', priority: 2, class: 'nowrap', cell: lastUse },
]

/** The columns of the sessions of one operator, in a drawer. */
const ownColumns: readonly Column<OperatorSession>[] = [
  {
    name: 'address',
    label: 'From',
    isMain: true,
    cell: (row) => (
      <>
        {row.address}
        <Sub>since {instant(row.created_at)}</Sub>
      </>
    ),
  },
  { name: 'factor', label: 'Second factor', cell: factorState },
  { name: 'used', label: 'Last used', class: 'nowrap', cell: lastUse },
]

interface OperatorSessionsProps {
  /** The id of an operator; default: all. */
  readonly operator?: string
}

export function OperatorSessions({ operator }: OperatorSessionsProps) {
  const list = useLoaded<Page<OperatorSession>>(withQuery(PATH, { operator }))
  const [selected, setSelected] = useState<OperatorSession>()
  const end: Column<OperatorSession> = {
    name: 'end',
    label: <span class="vh">End</span>,
    align: 'end',
    cell: (row) =>
      mayChange('administrator') && (
        <Button size="tiny" kind="quiet" onClick={() => setSelected(row)}>
          End…
        </Button>
      ),
  }
  return (
    <section class="section" aria-labelledby="operator-sessions">
      <h2 id="operator-sessions">{operator ? 'Sessions' : 'Sessions of operators'}</h2>
      <Part of={list} subject="the sessions">
        {({ data }) =>
          data.length === 0 ? (
            <p class="soft small">The operator is not signed in.</p>
          ) : (
            <Table
              caption="Sessions of operators"
              rows={data}
              rowKey={({ id }) => id}
              columns={[...(operator ? ownColumns : allColumns), end]}
            />
          )
        }
      </Part>
      {selected && (
        <Confirm
          title={`End the session from ${selected.address}`}
          verb="End the session"
          isDangerous
          onClose={() => setSelected(undefined)}
          run={async () => {
            await send('DELETE', `${PATH}/${selected.id}`)
            say('The session is ended.')
            list.reload()
          }}
        >
          <p>The browser of the operator displays the sign-in form at its next request.</p>
        </Confirm>
      )}
    </section>
  )
}
