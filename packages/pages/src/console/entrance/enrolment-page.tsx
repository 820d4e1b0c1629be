/** Enrols the second factor: secret, first code, recovery codes. */
import { useEffect, useState } from 'preact/hooks'
import { ApiFailure } from '../../api.ts'
import { releaseName } from '../../branding.ts'
import { Button } from '../../parts/button.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Field } from '../../parts/field.tsx'
import { Form } from '../../parts/form.tsx'
import { Brand, useTitle } from '../../parts/frame.tsx'
import { Failed } from '../../parts/notices.tsx'
import { QrCode } from '../../parts/qr-code.tsx'
import {
  confirmSecondFactor,
  type Enrolment,
  enrolSecondFactor,
  loadSession,
  signOut,
} from '../session.ts'

interface EnrolmentProps {
  /** Whether the session can do nothing else. */
  readonly isRequired?: boolean
  readonly onDone?: () => void
}

/** The steps of an enrolment. A wrong first code discards the secret: another is requested. */
function useEnrolment() {
  const [enrolment, setEnrolment] = useState<Enrolment>()
  const [codes, setCodes] = useState<readonly string[]>()
  const [failure, setFailure] = useState<ApiFailure>()
  const attempt = async (work: () => Promise<void>) => {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error
      setFailure(error)
    }
  }
  const request = () => attempt(async () => setEnrolment(await enrolSecondFactor()))
  const confirm = async (code: string) => {
    setFailure(undefined)
    await attempt(async () => setCodes(await confirmSecondFactor(code)))
  }
  // Once.
  useEffect(() => void request(), [])
  return { enrolment, codes, failure, request, confirm }
}

export function EnrolmentPage({ isRequired, onDone }: EnrolmentProps) {
  useTitle('Second factor')
  const { enrolment, codes, failure, request, confirm } = useEnrolment()
  return (
    <div class="setup">
      <header>
        <span class="brand">
          <Brand subtitle={`Gatehook ${releaseName}`} />
        </span>
        {isRequired && (
          <Button kind="quiet" size="tiny" class="right" onClick={() => signOut()}>
            Sign out
          </Button>
        )}
      </header>
      <main id="main" class="narrow">
        <section class="card">
          {codes ? (
            <RecoveryCodes
              codes={codes}
              onDone={() => {
                loadSession().then(() => onDone?.())
              }}
            />
          ) : (
            <Scan enrolment={enrolment} failure={failure} onCode={confirm} onRenew={request} />
          )}
        </section>
      </main>
    </div>
  )
}

interface ScanProps {
  readonly enrolment: Enrolment | undefined
  readonly failure: ApiFailure | undefined
  readonly onCode: (code: string) => void
  readonly onRenew: () => Promise<void>
}

function Scan({ enrolment, failure, onCode, onRenew }: ScanProps) {
  const [code, setCode] = useState('')
  const isWrong = failure?.code === 'invalid_credentials'
  return (
    <>
      <h1>Second factor</h1>
      <p class="soft">
        Sign-in with a password needs a code of an authenticator app. Scan the image with the app,
        then enter its first code.
      </p>
      {failure && !isWrong && <Failed failure={failure} />}
      {enrolment && (
        <>
          <QrCode text={enrolment.uri} label="The secret for an authenticator app, as a QR code" />
          <p class="hint">
            Or enter the secret: <code>{enrolment.secret}</code>{' '}
            <Copy text={enrolment.secret} subject="secret" />
          </p>
          <Form
            onSubmit={() => {
              onCode(code.trim())
              setCode('')
            }}
          >
            <Field
              label="Code"
              value={code}
              onInput={setCode}
              inputMode="numeric"
              autocomplete="one-time-code"
              error={isWrong ? 'The code is wrong, and its secret is discarded.' : undefined}
            />
            {isWrong ? (
              <Button onClick={onRenew}>Display another secret</Button>
            ) : (
              <Button kind="first" type="submit">
                Confirm
              </Button>
            )}
          </Form>
        </>
      )}
    </>
  )
}

interface RecoveryCodesProps {
  readonly codes: readonly string[]
  readonly onDone: () => void
}

const RecoveryCodes = ({ codes, onDone }: RecoveryCodesProps) => (
  <>
    <h1>Recovery codes</h1>
    <p class="soft">
      Each code replaces the app once. The server displays them only now: store them where you store
      passwords.
    </p>
    <pre class="wrap">{codes.join('\n')}</pre>
    <p>
      <Copy text={codes.join('\n')} label="Copy the codes" />
    </p>
    <Form onSubmit={onDone}>
      <Button kind="first" type="submit">
        I have stored them
      </Button>
    </Form>
  </>
)
