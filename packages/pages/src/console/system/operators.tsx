/** The operators' sessions, and the commands that create and disable operators. */
import { useState } from 'preact/hooks'
import { send } from '../../api.ts'
import { slowNow } from '../../clock.ts'
import { ago, instant } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Button } from '../../parts/button.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { Part } from '../../parts/notices.tsx'
import { State } from '../../parts/state.tsx'
import { Sub, Table } from '../../parts/table.tsx'
import { say } from '../../parts/toast.tsx'
import type { Page } from '../api-shapes.ts'
import { mayChange } from '../session.ts'

/** A row of `GET /admin/operator-sessions`. */
interface OperatorSession {
  readonly id: string
  /** Null in the session of a link without an operator. */
  readonly operator: string | null
  readonly address: string
  readonly verified: boolean
  readonly created_at: string
  readonly last_used_at: string
}

const PATH = '/admin/operator-sessions'
const COMMAND = 'gatehook operators create EMAIL --role support'

const nameOf = ({ operator }: OperatorSession): string => operator ?? 'one-time link'

export function Operators() {
  const list = useLoaded<Page<OperatorSession>>(PATH)
  const [selected, setSelected] = useState<OperatorSession>()
  return (
    <section class="section" aria-labelledby="operators">
      <h2 id="operators">Sessions of operators</h2>
      <Part of={list} subject="sessions of operators">
        {({ data }) => (
          <Table
            caption="Sessions of operators"
            rows={data}
            rowKey={({ id }) => id}
            columns={[
              {
                name: 'operator',
                label: 'Operator',
                isMain: true,
                cell: (row) => (
                  <>
                    <span class="mono">{nameOf(row)}</span>
                    <Sub>
                      {row.address} · {ago(row.last_used_at, slowNow().value)}
                    </Sub>
                  </>
                ),
              },
              {
                name: 'factor',
                label: 'Second factor',
                priority: 3,
                cell: ({ verified }) =>
                  verified ? <State tone="ok">Verified</State> : <State tone="warn">Open</State>,
              },
              { name: 'address', label: 'From', priority: 2, cell: ({ address }) => address },
              {
                name: 'since',
                label: 'Since (UTC)',
                priority: 3,
                cell: ({ created_at: at }) => <time dateTime={at}>{instant(at)}</time>,
              },
              {
                name: 'used',
                label: 'Last used',
                priority: 2,
                class: 'nowrap',
                cell: ({ last_used_at: at }) => ago(at, slowNow().value),
              },
              {
                name: 'end',
                label: <span class="vh">End</span>,
                align: 'end',
                cell: (row) =>
                  mayChange('administrator') && (
                    <Button size="tiny" kind="quiet" onClick={() => setSelected(row)}>
                      End…
                    </Button>
                  ),
              },
            ]}
          />
        )}
      </Part>
      <p class="hint">
        Operators are created, disabled and given a role in a terminal: <code>{COMMAND}</code>{' '}
        <Copy text={COMMAND} subject="command" />
      </p>
      {selected && (
        <Confirm
          title={`End the session of ${nameOf(selected)}`}
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
