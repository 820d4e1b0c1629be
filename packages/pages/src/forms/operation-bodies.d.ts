/** The bodies of all operations by id, from `spec/openapi/`: `operation-bodies.ts` of the build. */
declare module 'virtual:operation-bodies' {
  type BodyMember = import('./operation-body.ts').BodyMember
  export const bodies: Readonly<
    Record<string, { readonly method: string; readonly members: readonly BodyMember[] }>
  >
}
