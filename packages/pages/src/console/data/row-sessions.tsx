/** The sessions of a row that signs in, and the operations that end them. */
import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { count } from '../../format.ts'
import { columnsOf } from '../../lists/columns.tsx'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Part } from '../../parts/notices.tsx'
import { Table } from '../../parts/table.tsx'
import { say } from '../../parts/toast.tsx'
import type { Session } from '../admin-types.ts'
import type { Page } from '../api-shapes.ts'
import { mayChange } from '../session.ts'

/** The client of a session that `POST /auth/login` opened. */
const LOGIN_CLIENT = 'gatehook'

const clientOf = ({ client_id: client }: Session): string =>
  client === LOGIN_CLIENT ? 'Login' : client

const columns = columnsOf<Session>('Session', {
  cells: { client_id: clientOf },
  omit: ['id', 'expires_at', 'scope'],
})

const countEnds = (sessions: number): string =>
  `${count(sessions, 'session')} ${sessions === 1 ? 'ends' : 'end'}`

interface RowSessionsProps {
  readonly id: number
  /** The name of the person. */
  readonly name: string
}

/** Mount it with another key after a change that ends sessions. */
export function RowSessions({ id, name }: RowSessionsProps) {
  const path = `/admin/users/${id}/sessions`
  const sessions = useLoaded<Page<Session>>(`${path}?sort=-created_at`)
  const [selected, setSelected] = useState<Session | 'all'>()
  const mayEnd = mayChange('administrator')
  const rows = sessions.data?.data ?? []
  return (
    <section aria-labelledby="sessions">
      <div class="bar">
        <h3 id="sessions">Sessions</h3>
        {mayEnd && rows.length > 0 && (
          <Button size="tiny" kind="danger" onClick={() => setSelected('all')}>
            End all…
          </Button>
        )}
      </div>
      <Part of={sessions} subject="the sessions">
        {({ data, has_more: hasMore }) =>
          data.length === 0 ? (
            <p class="soft small">{name} has no session.</p>
          ) : (
            <>
              <Table
                caption={`Sessions of ${name}`}
                rows={data}
                rowKey={(row) => row.id}
                columns={[
                  ...columns,
                  {
                    name: 'end',
                    label: <span class="vh">End</span>,
                    align: 'end',
                    cell: (row) =>
                      mayEnd && (
                        <Button size="tiny" kind="quiet" onClick={() => setSelected(row)}>
                          End…
                        </Button>
                      ),
                  },
                ]}
              />
              {hasMore && <p class="soft small">These are the newest {data.length}.</p>}
            </>
          )
        }
      </Part>
      {selected && (
        <Confirm
          title={selected === 'all' ? `End every session of ${name}` : `End a session of ${name}`}
          verb={selected === 'all' ? 'End all' : 'End the session'}
          isDangerous
          onClose={() => setSelected(undefined)}
          run={async () => {
            await send('DELETE', selected === 'all' ? path : `${path}/${selected.id}`)
            say(selected === 'all' ? `${name} has no session.` : 'The session is ended.')
            sessions.reload()
          }}
        >
          <p>
            {selected === 'all'
              ? `${countEnds(rows.length)}, also in the portal. `
              : `The session of ${clientOf(selected)} ends. `}
            Its tokens are rejected within 2 s. {name} can sign in again.
          </p>
        </Confirm>
      )}
    </section>
  )
}
