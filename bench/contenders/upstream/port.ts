/** The port of the application of row 28, which the service names. */
export const PORT = 18_790
