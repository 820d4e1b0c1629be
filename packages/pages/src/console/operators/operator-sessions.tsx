/** Sessions of the console: those of one operator, or all. */
import { useState } from 'preact/hooks'
import { send, withQuery } from '../../api.ts'
import { columnsOf } from '../../lists/columns.tsx'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Part } from '../../parts/notices.tsx'
import { type Column, Table } from '../../parts/table.tsx'
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

/** Columns that sessions have in a terminal. */
const OMITTED = ['id', 'expires_at']

const allColumns = columnsOf<OperatorSession>('OperatorSession', {
  cells: { email: Owner },
  omit: OMITTED,
})

/** The columns of the sessions of one operator, in a drawer. */
const ownColumns = columnsOf<OperatorSession>('OperatorSession', { omit: [...OMITTED, 'email'] })

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
