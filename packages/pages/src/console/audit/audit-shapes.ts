/** The JSON of the audit trail. */

/** A row of `GET /admin/audit`. */
export interface AuditRow {
  readonly id: string
  readonly at: string
  readonly principal: {
    readonly kind: string
    readonly id: string
    readonly name: string | null
  }
  readonly action: string
  readonly target: string
  readonly address: string | null
  readonly request_id: string | null
  readonly detail: Readonly<Record<string, unknown>>
  readonly hash: string | null
  readonly node: string | null
}
