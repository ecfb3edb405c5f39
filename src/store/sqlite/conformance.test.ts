import { exerciseStore } from "../conformance/exercise-store.conformance.ts";
import { sqliteBundle } from "./bundle.conformance.ts";

exerciseStore("sqlite on a file", sqliteBundle);
