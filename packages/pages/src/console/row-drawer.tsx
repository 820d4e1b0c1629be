/**
 * The drawer of one row of a list: its facts, the operations that the operator may perform, and a
 * dialog for each. A table of operations declares them.
 */
import type { ComponentChildren, FunctionComponent } from 'preact'
import { useState } from 'preact/hooks'
import { useLoaded } from '../loaded.ts'
import { Button } from '../parts/button.tsx'
import { CallLine } from '../parts/call-line.tsx'
import { Confirm } from '../parts/dialog.tsx'
import { Drawer } from '../parts/drawer.tsx'
import { Empty, Failed, Part } from '../parts/notices.tsx'
import { say } from '../parts/toast.tsx'
import { go, href } from '../router.ts'
import { useSend } from '../use-send.ts'
import { customerName } from './customer-names.ts'
import type { OpenRow } from './list-screen.tsx'
import { mayChange } from './session.ts'

/** The dialog of an operation on a row. */
export interface OperationProps<Row> {
  readonly row: Row
  readonly onClose: () => void
  /** Loads the row and the list again. */
  readonly onDone: () => void
  /** Closes the drawer of a row that no longer exists. */
  readonly onEnd: () => void
}

export interface RowOperation<Row> {
  /** The verb on the button. */
  readonly verb: string
  readonly role: Parameters<typeof mayChange>[0]
  /** Whether the state of the row allows it. Default: always. */
  readonly fits?: (row: Row) => boolean
  readonly isDangerous?: boolean
  readonly dialog: FunctionComponent<OperationProps<Row>>
}

/** An operation that a click performs: it can be repeated. */
interface DirectOperation<Row> extends Omit<RowOperation<Row>, 'dialog'> {
  readonly request: (row: Row) => Promise<unknown>
  /** Says what the request has done. */
  readonly done: (row: Row) => string
}

interface Confirmation {
  readonly title: string
  readonly verb: string
  readonly busyVerb?: string
  readonly isDangerous?: boolean
  /** The text to type first. */
  readonly typed?: string | undefined
  readonly request: () => Promise<unknown>
  /** Says what the request has done. */
  readonly done: string
  /** Whether the row no longer exists then. */
  readonly isEnd?: true
  /** The effect of the operation. */
  readonly text: ComponentChildren
  /** Displayed below the text. */
  readonly more?: ComponentChildren
}

/** Returns the dialog of an operation that needs a confirmation, and no form. */
export const confirmation =
  <Row,>(of: (row: Row) => Confirmation): RowOperation<Row>['dialog'] =>
  ({ row, onClose, onDone, onEnd }) => {
    const { request, done, isEnd, text, more, ...dialog } = of(row)
    const run = async () => {
      await request()
      say(done)
      if (isEnd) onEnd()
      else onDone()
    }
    return (
      <Confirm {...dialog} run={run} onClose={onClose}>
        <p>{text}</p>
        {more}
      </Confirm>
    )
  }

interface OfCustomerProps {
  readonly customer: string
  readonly mode: string
}

export const OfCustomer = ({ customer, mode }: OfCustomerProps) => (
  <>
    <a href={href(`/console/customers/${customer}`)}>{customerName(customer)}</a>, {mode}
  </>
)

interface RowDrawerProps<Body, Row> extends OpenRow {
  /** The path of the request. */
  readonly path: string
  /** The name of a row: `key`. */
  readonly noun: string
  /** Returns the row of a response; undefined: there is none with the id. */
  readonly rowOf: (body: Body) => Row | undefined
  readonly nameOf: (row: Row) => string
  readonly facts: FunctionComponent<{ readonly row: Row }>
  readonly operations: readonly (RowOperation<Row> | DirectOperation<Row>)[]
  /** Repeats the request. */
  readonly everyMs?: number
  /** Displayed instead of the operations on a row that the operator must not change. */
  readonly fixed?: (row: Row) => ComponentChildren
  /** Displayed below the operations. `changes` counts them. */
  readonly more?: (row: Row, changes: number) => ComponentChildren
  /** Why there is no row. */
  readonly gone?: string
}

export function RowDrawer<Body, Row>(props: RowDrawerProps<Body, Row>) {
  const { id, closeHref, onChange, path, noun, facts: RowFacts, operations } = props
  const loaded = useLoaded<Body>(path, { everyMs: props.everyMs })
  const [changes, setChanges] = useState(0)
  const row = loaded.data && props.rowOf(loaded.data)
  const { buttons, dialog } = useOperations(operations, row, {
    onDone() {
      loaded.reload()
      setChanges(changes + 1)
      onChange()
    },
    onEnd() {
      onChange()
      go(closeHref)
    },
  })
  return (
    <Drawer title={row ? props.nameOf(row) : <span class="mono">{id}</span>} closeHref={closeHref}>
      <Part of={loaded} subject={`the ${noun}`}>
        {() =>
          row ? (
            <>
              <RowFacts row={row} />
              {props.fixed?.(row) || buttons}
              {props.more?.(row, changes)}
            </>
          ) : (
            <Empty title={`No ${noun} has this id`}>{props.gone}</Empty>
          )
        }
      </Part>
      <CallLine path={path} />
      {dialog}
    </Drawer>
  )
}

/**
 * Returns the buttons of the operations that the operator may perform on a row, and the dialog of
 * the one that is open.
 */
export function useOperations<Row>(
  operations: readonly (RowOperation<Row> | DirectOperation<Row>)[],
  row: Row | undefined,
  after: Pick<OperationProps<Row>, 'onDone' | 'onEnd'>,
): { readonly buttons: ComponentChildren; readonly dialog: ComponentChildren } {
  const [open, setOpen] = useState<RowOperation<Row>>()
  const { isBusy, failure, run } = useSend()
  if (row === undefined) return { buttons: undefined, dialog: undefined }
  const allowed = operations.filter(({ role, fits }) => mayChange(role) && (fits?.(row) ?? true))
  const Dialog = open?.dialog
  const start = (operation: (typeof allowed)[number]) => {
    if ('dialog' in operation) return setOpen(operation)
    void run(async () => {
      await operation.request(row)
      say(operation.done(row))
      after.onDone()
    })
  }
  const buttons = allowed.length > 0 && (
    <>
      <div class="bar">
        {allowed.map((operation) => (
          <Button
            key={operation.verb}
            size="tiny"
            kind={operation.isDangerous ? 'danger' : 'plain'}
            busy={!('dialog' in operation) && isBusy && 'Sending…'}
            onClick={() => start(operation)}
          >
            {'dialog' in operation ? `${operation.verb}…` : operation.verb}
          </Button>
        ))}
      </div>
      {failure && <Failed failure={failure} />}
    </>
  )
  return {
    buttons,
    dialog: Dialog && <Dialog row={row} onClose={() => setOpen(undefined)} {...after} />,
  }
}
