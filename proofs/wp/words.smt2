; SPDX-License-Identifier: Apache-2.0
; The axioms of words.mlw, on words of 64 bits: a counterexample to any of them is asked for, and there must be none.
(set-logic QF_BV)
(declare-const a (_ BitVec 64))
(declare-const b (_ BitVec 64))

; lsr_8
(push)
(assert (not (= (bvlshr a (_ bv8 64)) (bvudiv a (_ bv256 64)))))
(check-sat)
(pop)

; lsr_15
(push)
(assert (not (= (bvlshr a (_ bv15 64)) (bvudiv a (_ bv32768 64)))))
(check-sat)
(pop)

; lsr_16
(push)
(assert (not (= (bvlshr a (_ bv16 64)) (bvudiv a (_ bv65536 64)))))
(check-sat)
(pop)

; lsr_17
(push)
(assert (not (= (bvlshr a (_ bv17 64)) (bvudiv a (_ bv131072 64)))))
(check-sat)
(pop)

; lsr_24
(push)
(assert (not (= (bvlshr a (_ bv24 64)) (bvudiv a (_ bv16777216 64)))))
(check-sat)
(pop)

; lsr_26
(push)
(assert (not (= (bvlshr a (_ bv26 64)) (bvudiv a (_ bv67108864 64)))))
(check-sat)
(pop)

; lsr_32
(push)
(assert (not (= (bvlshr a (_ bv32 64)) (bvudiv a (_ bv4294967296 64)))))
(check-sat)
(pop)

; lsr_33
(push)
(assert (not (= (bvlshr a (_ bv33 64)) (bvudiv a (_ bv8589934592 64)))))
(check-sat)
(pop)

; lsr_58
(push)
(assert (not (= (bvlshr a (_ bv58 64)) (bvudiv a (_ bv288230376151711744 64)))))
(check-sat)
(pop)

; lsr_63
(push)
(assert (not (= (bvlshr a (_ bv63 64)) (bvudiv a (_ bv9223372036854775808 64)))))
(check-sat)
(pop)

; lsr_16, lsr_24
(push)
(assert (not (and (= (bvlshr a (_ bv16 64)) (bvudiv (bvlshr a (_ bv8 64)) (_ bv256 64))) (= (bvlshr a (_ bv24 64)) (bvudiv (bvlshr a (_ bv16 64)) (_ bv256 64))))))
(check-sat)
(pop)

; lsl_8, below 2^56
(push)
(assert (not (=> (bvult a (_ bv72057594037927936 64)) (and (= (bvshl a (_ bv8 64)) (bvmul a (_ bv256 64))) (= (bvudiv (bvshl a (_ bv8 64)) (_ bv256 64)) a)))))
(check-sat)
(pop)

; lsl_16, below 2^48
(push)
(assert (not (=> (bvult a (_ bv281474976710656 64)) (and (= (bvshl a (_ bv16 64)) (bvmul a (_ bv65536 64))) (= (bvudiv (bvshl a (_ bv16 64)) (_ bv65536 64)) a)))))
(check-sat)
(pop)

; lsl_24, below 2^40
(push)
(assert (not (=> (bvult a (_ bv1099511627776 64)) (and (= (bvshl a (_ bv24 64)) (bvmul a (_ bv16777216 64))) (= (bvudiv (bvshl a (_ bv24 64)) (_ bv16777216 64)) a)))))
(check-sat)
(pop)

; lsl_32, below 2^32
(push)
(assert (not (=> (bvult a (_ bv4294967296 64)) (and (= (bvshl a (_ bv32 64)) (bvmul a (_ bv4294967296 64))) (= (bvudiv (bvshl a (_ bv32 64)) (_ bv4294967296 64)) a)))))
(check-sat)
(pop)

; lsr_less
(push)
(assert (not (bvule (bvlshr a b) a)))
(check-sat)
(pop)

; and_comm, or_comm, xor_comm
(push)
(assert (not (and (= (bvand a b) (bvand b a)) (= (bvor a b) (bvor b a)) (= (bvxor a b) (bvxor b a)))))
(check-sat)
(pop)

; and_zero, or_zero, xor_zero
(push)
(assert (not (and (= (bvand (_ bv0 64) b) (_ bv0 64)) (= (bvor (_ bv0 64) b) b) (= (bvxor (_ bv0 64) b) b))))
(check-sat)
(pop)

; xor_twice
(push)
(assert (not (= (bvxor a (bvxor a b)) b)))
(check-sat)
(pop)

; or_64
(push)
(assert (not (and (bvule a (bvor a b)) (bvule b (bvor a b)))))
(check-sat)
(pop)

; or_8
(push)
(assert (not (=> (and (bvult a (_ bv256 64)) (bvult b (_ bv256 64))) (bvult (bvor a b) (_ bv256 64)))))
(check-sat)
(pop)

; or_bit, where the shifted bit is 2^n
(push)
(declare-const n (_ BitVec 64))
(declare-const k (_ BitVec 64))
(assert (not (=> (and (bvult a (_ bv256 64)) (bvult n (_ bv8 64)) (bvult k (_ bv8 64)))
  (= (bvand (_ bv1 64) (bvlshr (bvor a (bvshl (_ bv1 64) n)) k))
     (ite (= k n) (_ bv1 64) (bvand (_ bv1 64) (bvlshr a k)))))))
(check-sat)
(pop)

; zero_shifted, zero_halved
(push)
(assert (not (and (= (bvshl (_ bv0 64) b) (_ bv0 64)) (= (bvlshr (_ bv0 64) b) (_ bv0 64)))))
(check-sat)
(pop)

; or_parts_8
(push)
(assert (not (=> (and (bvult a (_ bv256 64)) (= (bvurem b (_ bv256 64)) (_ bv0 64))) (= (bvor a b) (bvadd a b)))))
(check-sat)
(pop)

; or_parts_16
(push)
(assert (not (=> (and (bvult a (_ bv65536 64)) (= (bvurem b (_ bv65536 64)) (_ bv0 64))) (= (bvor a b) (bvadd a b)))))
(check-sat)
(pop)

; or_parts_24
(push)
(assert (not (=> (and (bvult a (_ bv16777216 64)) (= (bvurem b (_ bv16777216 64)) (_ bv0 64))) (= (bvor a b) (bvadd a b)))))
(check-sat)
(pop)

; or_shifted_32
(push)
(assert (not (=> (and (bvult a (_ bv4294967296 64)) (bvult b (_ bv4294967296 64))) (= (bvor a (bvshl b (_ bv32 64))) (bvadd a (bvmul (_ bv4294967296 64) b))))))
(check-sat)
(pop)

; and_64
(push)
(assert (not (and (bvule (bvand a b) a) (bvule (bvand a b) b))))
(check-sat)
(pop)

; and_ones_64
(push)
(assert (not (= (bvand (_ bv18446744073709551615 64) b) b)))
(check-sat)
(pop)

; and_ones_32
(push)
(assert (not (=> (bvult b (_ bv4294967296 64)) (= (bvand (_ bv4294967295 64) b) b))))
(check-sat)
(pop)

; and_low_16
(push)
(assert (not (= (bvand (_ bv65535 64) b) (bvurem b (_ bv65536 64)))))
(check-sat)
(pop)

; and_round_8
(push)
(assert (not (= (bvand (_ bv18446744073709551608 64) b) (bvmul (_ bv8 64) (bvudiv b (_ bv8 64))))))
(check-sat)
(pop)

; xor_64
(push)
(assert (not (= (= (bvxor a b) (_ bv0 64)) (= a b))))
(check-sat)
(pop)

; xor_32
(push)
(assert (not (=> (and (bvult a (_ bv4294967296 64)) (bvult b (_ bv4294967296 64))) (bvult (bvxor a b) (_ bv4294967296 64)))))
(check-sat)
(pop)

; xor_ones_32
(push)
(assert (not (=> (bvult b (_ bv4294967296 64)) (= (bvxor (_ bv4294967295 64) b) (bvsub (_ bv4294967295 64) b)))))
(check-sat)
(pop)

; borrow_64
(push)
(assert (not (= (bvuge (bvor (bvand (bvnot a) b) (bvand (bvor (bvnot a) b) (bvsub a b))) (_ bv9223372036854775808 64)) (bvult a b))))
(check-sat)
(pop)
