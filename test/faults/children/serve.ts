/** A process that receives and works until somebody ends it. */
import { answerParent } from "../../../src/testing/child.ts";
import { crashApp } from "../../support/crash-app.ts";

const [address = "", carrier = ""] = process.argv.slice(2);
const app = crashApp({ address, carrier });

answerParent({
  listen: async () => {
    await app.start({ roles: ["worker"] });
    return (await app.listen({ port: 0 })).port;
  },
});
