/** The dialogs of a version's calendar: deprecate, move the end, brownout, retire, take back. */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { send, withQuery } from '../../api.ts'
import { nowMs } from '../../clock.ts'
import { count, day, number } from '../../format.ts'
import { useLoaded } from '../../loaded.ts'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/facts.tsx'
import { Check, Field } from '../../parts/field.tsx'
import { Failed, Loading, Notice } from '../../parts/notices.tsx'
import { say } from '../../parts/toast.tsx'
import { useSend } from '../../use-send.ts'
import {
  brownoutWords,
  dateMessage,
  earliestEnd,
  fieldOf,
  hoursOfWeek,
  instantOf,
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

const put = ({ version, tag }: FormProps, body: object) =>
  send('PUT', versionPath(version), { body, headers: { 'if-match': tag } })

interface CalendarDialogProps {
  readonly form: FormProps
  readonly title: string
  readonly verb: string
  readonly sending: ReturnType<typeof useSend>
  readonly body: () => object
  readonly done: string
  /** Members whose fields display the server's message. */
  readonly members: readonly string[]
  readonly children: ComponentChildren
}

/** A form of the calendar. It offers `force` when the server requires it. */
function CalendarDialog(props: CalendarDialogProps) {
  const { form, title, verb, sending, body, done, members, children } = props
  const { isBusy, failure, messageOf, run } = sending
  const [needsForce, setNeedsForce] = useState(false)
  const [isForced, setForced] = useState(false)
  useEffect(() => {
    if (!failure) return
    const isTooSoon = failure.code === 'notice_too_short'
    setNeedsForce(isTooSoon)
    if (!isTooSoon) setForced(false)
  }, [failure])
  const save = () =>
    run(async () => {
      await put(form, { ...body(), ...(isForced && { force: true }) })
      say(done)
      form.onDone()
      form.onClose()
    })
  return (
    <Dialog
      title={title}
      onClose={form.onClose}
      submit={{
        verb,
        kind: isForced ? 'danger first' : 'first',
        busy: isBusy && 'Saving…',
        run: save,
      }}
    >
      {children}
      <p class="small soft">The calendar is the same for live and test requests.</p>
      {needsForce && (
        <Check
          label="Do it anyway: callers get less notice than they were promised"
          checked={isForced}
          onChange={setForced}
        />
      )}
      {failure?.code === 'precondition_failed' ? (
        <Notice tone="warn" word="Changed" role="alert">
          Someone has changed this calendar since the dialog opened. Close it and open it again.
        </Notice>
      ) : (
        failure && !members.some(messageOf) && <Failed failure={failure} />
      )}
    </Dialog>
  )
}

function Deprecate(form: FormProps) {
  const { row, version, others } = form
  const [end, setEnd] = useState(fieldOf(row.sunset_at))
  const [successor, setSuccessor] = useState(row.successor ?? '')
  const [guide, setGuide] = useState(row.migration_guide ?? '')
  const sending = useSend()
  return (
    <CalendarDialog
      form={form}
      title={`Deprecate ${version}`}
      verb="Deprecate"
      sending={sending}
      done={`${version} is deprecated.`}
      members={['/sunset_at', '/successor', '/migration_guide']}
      body={() => ({
        deprecated_at: new Date(nowMs()).toISOString(),
        sunset_at: end === '' ? null : instantOf(end),
        successor: successor || null,
        migration_guide: guide || null,
      })}
    >
      <p>
        Responses to {version} get <code>Deprecation</code> headers from now on. Customers that
        called it in the last 30 days get the event <code>api_version.deprecated</code>, also at
        their webhooks. Mail is separate: <i>Write to all…</i>
      </p>
      <Field
        label="Ends on (UTC)"
        value={end}
        onInput={setEnd}
        placeholder={fieldOf(earliestEnd(nowMs())).slice(0, 10)}
        hint={`Empty: no end yet. The earliest is ${day(earliestEnd(nowMs()))}.`}
        error={dateMessage(sending.messageOf('/sunset_at'))}
      />
      <Field
        label="Successor"
        value={successor}
        onInput={setSuccessor}
        options={[['', 'The next version'], ...others.map((name) => [name, name] as const)]}
        error={sending.messageOf('/successor')}
      />
      <Field
        label="Migration guide"
        value={guide}
        onInput={setGuide}
        type="url"
        placeholder="https://"
        error={sending.messageOf('/migration_guide')}
      />
    </CalendarDialog>
  )
}

function MoveEnd(form: FormProps) {
  const { row, version } = form
  const [end, setEnd] = useState(fieldOf(row.sunset_at))
  const sending = useSend()
  const earliest = earliestEnd(nowMs())
  const verb = row.sunset_at ? 'Move' : 'Set'
  return (
    <CalendarDialog
      form={form}
      title={`${verb} the end of ${version}`}
      verb={`${verb} the end`}
      sending={sending}
      done={`The end of ${version} is changed.`}
      members={['/sunset_at']}
      body={() => ({ sunset_at: end === '' ? null : instantOf(end) })}
    >
      <p>
        {version} {row.sunset_at ? `ends on ${day(row.sunset_at)}` : 'has no end yet'}. From the end
        on, every request gets 410.
      </p>
      <Field
        label="Ends on (UTC)"
        value={end}
        onInput={setEnd}
        placeholder={fieldOf(earliest).slice(0, 10)}
        hint={`Empty: no end. The earliest without force is ${day(earliest)}.`}
        error={dateMessage(sending.messageOf('/sunset_at'))}
        autofocus
      />
    </CalendarDialog>
  )
}

function AnnounceBrownout(form: FormProps) {
  const { row, version } = form
  const [start, setStart] = useState('')
  const [end, setEnd] = useState('')
  const sending = useSend()
  const at = `/brownouts/${row.brownouts.length}`
  return (
    <CalendarDialog
      form={form}
      title={`Announce a brownout of ${version}`}
      verb="Announce it"
      sending={sending}
      done={`A brownout of ${version} is announced.`}
      members={['/brownouts']}
      body={() => ({
        brownouts: [...row.brownouts, { start: instantOf(start), end: instantOf(end) }],
      })}
    >
      <p class="small soft">
        For that time every request of {version} gets 410 <code>api_version_brownout</code>. Callers
        who missed the warnings notice it, and still have time.
      </p>
      {row.brownouts.length > 0 && (
        <Facts
          of={[
            [
              'Announced',
              row.brownouts.map((window) => (
                <div key={window.start}>
                  {day(window.start)}, {brownoutWords(window)}
                </div>
              )),
            ],
          ]}
        />
      )}
      <Field
        label="From (UTC)"
        value={start}
        onInput={setStart}
        placeholder="2027-04-13 09:00"
        error={dateMessage(sending.messageOf(`${at}/start`))}
        autofocus
      />
      <Field
        label="To (UTC)"
        value={end}
        onInput={setEnd}
        placeholder="2027-04-13 13:00"
        error={dateMessage(sending.messageOf(`${at}/end`))}
      />
      <UsualTraffic version={version} start={instantOf(start)} end={instantOf(end)} />
    </CalendarDialog>
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
        await put(form, { sunset_at: at, force: true })
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
  const sending = useSend()
  return (
    <CalendarDialog
      form={form}
      title={`Take back announcements of ${version}`}
      verb="Take back"
      sending={sending}
      done={`The calendar of ${version} is changed.`}
      members={[]}
      body={() => WITHDRAWN[choice as keyof typeof WITHDRAWN]}
    >
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
    </CalendarDialog>
  )
}
