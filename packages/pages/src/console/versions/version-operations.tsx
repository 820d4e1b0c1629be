/** The dialogs of a version's calendar: deprecate, move the end, brownout, retire, take back. */
import { useEffect, useState } from 'preact/hooks'
import { send, withQuery } from '../../api.ts'
import { nowMs } from '../../clock.ts'
import { count, day, number } from '../../format.ts'
import { instantOf, instantText } from '../../forms/draft.ts'
import type { Words } from '../../forms/field-words.ts'
import { OperationDialog, type OperationDialogProps } from '../../forms/form-dialog.tsx'
import { useLoaded } from '../../loaded.ts'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Field } from '../../parts/field.tsx'
import { Failed, Loading, Notice } from '../../parts/notices.tsx'
import { say } from '../../parts/toast.tsx'
import { useSend } from '../../use-send.ts'
import {
  brownoutWords,
  earliestEnd,
  hoursOfWeek,
  type VersionDetail,
  versionPath,
} from './version-shapes.ts'
import type { VersionTraffic } from './version-types.ts'

export type Operation = 'deprecate' | 'move' | 'brownout' | 'retire' | 'withdraw'

interface OperationProps {
  readonly version: string
  /** The names of the other versions. */
  readonly others: readonly string[]
  readonly onClose: () => void
  readonly onDone: () => void
}

/** A version as the dialog displays it, and its entity tag for `If-Match`. */
interface Read {
  readonly row: VersionDetail
  readonly tag: string
}

interface FormProps extends OperationProps, Read {}

const FORMS = {
  deprecate: Deprecate,
  move: MoveEnd,
  brownout: AnnounceBrownout,
  retire: Retire,
  withdraw: Withdraw,
}

/** Loads the version with its entity tag, then opens the dialog of the operation. */
export function VersionOperation(props: OperationProps & { readonly operation: Operation }) {
  const { operation, version, onClose } = props
  const [read, setRead] = useState<Read>()
  const { failure, run } = useSend()
  useEffect(() => {
    void run(async () => {
      const { body, headers } = await send<VersionDetail>('GET', versionPath(version))
      setRead({ row: body, tag: headers.get('etag') ?? '' })
    })
  }, [version])
  if (!read) {
    return (
      <Dialog title={version} onClose={onClose}>
        {failure ? <Failed failure={failure} /> : <Loading subject="the calendar" />}
      </Dialog>
    )
  }
  const Form = FORMS[operation]
  return <Form {...props} {...read} />
}

interface CalendarDialogProps
  extends Omit<OperationDialogProps<unknown>, 'operation' | 'path' | 'done' | 'onClose'> {
  readonly form: FormProps
  /** Says what the request has done. */
  readonly done: string
}

/** The dialog of a change of the calendar. It offers `force` when the server requires it. */
function CalendarDialog({ form, below, done, words, only = [], ...props }: CalendarDialogProps) {
  return (
    <OperationDialog
      operation="update_version"
      path={versionPath(form.version)}
      headers={{ 'if-match': form.tag }}
      row={form.row}
      only={[...only, 'force']}
      words={{
        ...words,
        force: {
          label: 'Do it anyway: callers get less notice than they were promised',
          hint: null,
          after: 'notice_too_short',
        },
      }}
      below={(content) => (
        <>
          {below?.(content)}
          <p class="small soft">The calendar is the same for live and test requests.</p>
        </>
      )}
      explain={({ code }) =>
        code === 'precondition_failed' ? (
          <Notice tone="warn" word="Changed" role="alert">
            Someone has changed this calendar since the dialog opened. Close it and open it again.
          </Notice>
        ) : undefined
      }
      {...props}
      done={() => {
        say(done)
        form.onDone()
        form.onClose()
      }}
      onClose={form.onClose}
    />
  )
}

function Deprecate(form: FormProps) {
  const { version, others } = form
  const earliest = earliestEnd(nowMs())
  return (
    <CalendarDialog
      form={form}
      title={`Deprecate ${version}`}
      verb="Deprecate"
      done={`${version} is deprecated.`}
      fixed={{ deprecated_at: new Date(nowMs()).toISOString() }}
      only={['sunset_at', 'successor', 'migration_guide']}
      words={{
        sunset_at: endWords(earliest, `Empty: no end yet. The earliest is ${day(earliest)}.`),
        successor: {
          hint: null,
          options: () => [['', 'The next version'], ...others.map((name) => [name, name] as const)],
        },
      }}
      above={
        <p>
          Responses to {version} get <code>Deprecation</code> headers from now on. Customers that
          called it in the last 30 days get the event <code>api_version.deprecated</code>, also at
          their webhooks. Mail is separate: <i>Write to all…</i>
        </p>
      }
    />
  )
}

const endWords = (earliest: string, hint: string) => ({
  label: 'Ends on (UTC)',
  placeholder: instantText(earliest),
  hint,
})

function MoveEnd(form: FormProps) {
  const { row, version } = form
  const earliest = earliestEnd(nowMs())
  const verb = row.sunset_at ? 'Move' : 'Set'
  const hint = `Empty: no end. The earliest without force is ${day(earliest)}.`
  return (
    <CalendarDialog
      form={form}
      title={`${verb} the end of ${version}`}
      verb={`${verb} the end`}
      done={`The end of ${version} is changed.`}
      only={['sunset_at']}
      words={{ sunset_at: endWords(earliest, hint) }}
      above={
        <p>
          {version} {row.sunset_at ? `ends on ${day(row.sunset_at)}` : 'has no end yet'}. From the
          end on, every request gets 410.
        </p>
      }
    />
  )
}

const brownoutFields: Words = {
  start: { label: 'From (UTC)', placeholder: '2027-04-13 09:00' },
  end: { label: 'To (UTC)', placeholder: '2027-04-13 13:00' },
}

function AnnounceBrownout(form: FormProps) {
  const { row, version } = form
  const { brownouts } = row
  return (
    <CalendarDialog
      form={form}
      title={`Announce a brownout of ${version}`}
      verb="Announce it"
      done={`A brownout of ${version} is announced.`}
      within={{ member: 'brownouts', pointer: `/brownouts/${brownouts.length}` }}
      complete={(window) => ({ brownouts: [...brownouts, window] })}
      row={undefined}
      only={Object.keys(brownoutFields)}
      words={brownoutFields}
      above={
        <>
          <p class="small soft">
            For that time every request of {version} gets 410 <code>api_version_brownout</code>.
            Callers who missed the warnings notice it, and still have time.
          </p>
          {brownouts.length > 0 && (
            <Facts
              of={[
                [
                  'Announced',
                  brownouts.map((window) => (
                    <div key={window.start}>
                      {day(window.start)}, {brownoutWords(window)}
                    </div>
                  )),
                ],
              ]}
            />
          )}
        </>
      }
      below={({ draft }) => (
        <UsualTraffic
          version={version}
          start={instantOf(draft.start as string)}
          end={instantOf(draft.end as string)}
        />
      )}
    />
  )
}

interface UsualTrafficProps {
  readonly version: string
  readonly start: string
  readonly end: string
}

/** The customers that the dialog names; the page has the callers. */
const NAMED_CUSTOMERS = 3

/** The requests of the version that are usual in these hours of the week, by customer. */
function UsualTraffic({ version, start, end }: UsualTrafficProps) {
  const window = hoursOfWeek(start, end)
  const { data } = useLoaded<VersionTraffic>(
    window && withQuery(`${versionPath(version)}/traffic`, window),
  )
  if (!window || !data) return null
  const { customers, expected, weeks } = data
  if (weeks === 0) {
    return (
      <Notice tone="info" word="Traffic" role="status">
        These hours have no recorded week yet.
      </Notice>
    )
  }
  const others = customers.length - NAMED_CUSTOMERS
  const names = customers.slice(0, NAMED_CUSTOMERS).map((row) => {
    const name = row.customer_name ?? 'callers without a credential'
    return `${name} ${number(Math.round(row.expected))}`
  })
  return (
    <Notice tone="info" word="Traffic" role="status">
      In these hours {version} usually has <b>{count(Math.round(expected), 'request')}</b>
      {names.length > 0 && `: ${names.join(', ')}`}
      {others > 0 && `, ${count(others, 'other customer')}`}. It is the mean of the last{' '}
      {weeks === 1 ? 'week' : `${weeks} weeks`}.
    </Notice>
  )
}

function Retire(form: FormProps) {
  return (
    <Confirm
      title={`Retire ${form.version} now`}
      verb="Retire it now"
      busyVerb="Retiring…"
      typed={form.version}
      isDangerous
      onClose={form.onClose}
      run={async () => {
        const at = new Date(nowMs()).toISOString()
        const body = { sunset_at: at, force: true }
        await send('PUT', versionPath(form.version), { body, headers: { 'if-match': form.tag } })
        say(`${form.version} is retired.`)
        form.onDone()
      }}
    >
      <p>
        Every request of {form.version} gets 410 within seconds
        {form.row.sunset_at && `, before the announced end on ${day(form.row.sunset_at)}`}. Callers
        who have not moved stop working.
      </p>
    </Confirm>
  )
}

const WITHDRAWN = {
  all: { deprecated_at: null, sunset_at: null, brownouts: null },
  end: { sunset_at: null },
  brownouts: { brownouts: null },
}

function Withdraw(form: FormProps) {
  const { row, version } = form
  const [choice, setChoice] = useState<string>('all')
  return (
    <CalendarDialog
      form={form}
      title={`Take back announcements of ${version}`}
      verb="Take back"
      done={`The calendar of ${version} is changed.`}
      fixed={WITHDRAWN[choice as keyof typeof WITHDRAWN]}
      above={
        <Field
          label="Take back"
          value={choice}
          onInput={setChoice}
          options={[
            ['all', 'The deprecation, the end and all brownouts'],
            ...(row.sunset_at ? [['end', `The end on ${day(row.sunset_at)}`] as const] : []),
            ...(row.brownouts.length > 0
              ? [['brownouts', count(row.brownouts.length, 'brownout')] as const]
              : []),
          ]}
        />
      }
    />
  )
}
