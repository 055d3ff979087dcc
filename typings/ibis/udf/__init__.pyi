from ibis.udf import scalar as scalar
